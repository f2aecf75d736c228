/** `millrace report`: the page in one file. */

/**
 * `millrace report`: the same page in one file. Its data is JSON in `<script type="application/json"
 * id="millrace-frozen">`; if it is there, the client makes no requests: it reads the data here, opens
 * no stream, and says when it was frozen.
 */
export interface Frozen {
  readonly wire: number;
  readonly frozenMs: number;
  /** The page that opens first; after that the fragment (`#/r/RUN/t/812`) says which one. */
  readonly start: string;
  /** By the path of the data with its query exactly as in `frozenKey`. */
  readonly json: Readonly<Record<string, unknown>>;
  /** `tokens.bin` by path, base64. */
  readonly bins: Readonly<Record<string, string>>;
  /** What is left out, in a sentence; empty for nothing: "200 of 48,210 trajectories". */
  readonly leftOut: string;
}

export const FROZEN_ID = 'millrace-frozen';

/**
 * The element that holds the static report of a frozen page in a shadow root: what there is without a script,
 * and a view with one.
 */
export const RESULTS_ID = 'millrace-results';

/**
 * The key of a page's data in `Frozen.json`: its path; of the query only `at`, `round` and `dir`, in this
 * order.
 */
export function frozenKey(path: string, query: Readonly<Record<string, string>>): string {
  const kept = ['at', 'round', 'dir'].flatMap((name) =>
    query[name] === undefined ? [] : [`${name}=${encodeURIComponent(query[name])}`],
  );
  return kept.length === 0 ? path : `${path}?${kept.join('&')}`;
}
