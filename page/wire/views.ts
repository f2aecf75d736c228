/**
 * Every view of the page: its address, the key that leads to it, its tab. The server computes a view's data
 * in the file of page/server/views that has its name; page/browser/pages/all.ts lists what the browser draws.
 *
 * A path is one view, its query that view's state, and the same path with `.json` is the view's data. Names
 * are in a path as in the log, percent-encoded; what may contain slashes (a question, a rollout) is the rest
 * of the path.
 */

interface RunView {
  /** The part of the path after the run; left out = its name. */
  readonly segment?: string;
  /** Whether a name follows: of a topic, question, rollout or version; left out = never. */
  readonly id?: 'perhaps' | 'always';
  readonly tab?: string;
  /** The key that leads to it, after `g`. */
  readonly key?: string;
  /** Its text in the list of keys; left out = its name. */
  readonly about?: string;
}

/** In the order of their tabs. */
const ofRun = {
  results: { tab: 'Results', key: 's' },
  overview: { segment: '', tab: 'Overview', key: 'o' },
  happened: { tab: 'What happened', key: 'h', about: 'what happened' },
  metrics: { tab: 'Metrics', key: 'm' },
  topics: { id: 'perhaps', tab: 'Topics', key: 't' },
  rollouts: { tab: 'Rollouts', key: 'l' },
  pareto: { tab: 'Pareto', key: 'p', about: 'Pareto' },
  question: { segment: 'q', id: 'always' },
  trajectory: { segment: 't', id: 'always' },
  weights: { id: 'perhaps', tab: 'Weights', key: 'w' },
  replay: { tab: 'Replay', key: 'r' },
} as const satisfies Readonly<Record<string, RunView>>;

/** The views of one run. */
export type RunPage = keyof typeof ofRun;

export const runViews: Readonly<Record<RunPage, RunView>> = ofRun;

export const runPages = Object.keys(runViews) as readonly RunPage[];

const segmentOf = (page: RunPage): string => runViews[page].segment ?? page;

export interface RunRoute {
  readonly page: RunPage;
  readonly run: string;
  /** Empty if the view has none. */
  readonly id: string;
}

export type KnownRoute =
  | { readonly page: 'runs' }
  | { readonly page: 'diff'; readonly a: string; readonly b: string }
  | RunRoute;

/** The view that a path names; null if it names none. Fails as `decode` does. */
export function routeAt(path: string, decode = decodeURIComponent): KnownRoute | null {
  if (path === '/') return { page: 'runs' };
  const [, a, b] = /^\/diff\/([^/.]+)\.\.([^/.]+)\/?$/.exec(path) ?? [];
  if (a !== undefined && b !== undefined) return { page: 'diff', a: decode(a), b: decode(b) };
  const [, run, segment = '', rest = ''] =
    /^\/r\/([^/.]+)(?:\/([^/]*)(?:\/(.*))?)?$/.exec(path) ?? [];
  const page = runPages.find((name) => segmentOf(name) === segment);
  if (run === undefined || page === undefined) return null;
  const raw = rest.replace(/\/$/, '');
  const { id } = runViews[page];
  if ((id === undefined && raw !== '') || (id === 'always' && raw === '')) return null;
  return { page, run: decode(run), id: decode(raw) };
}

export function pathOf(route: KnownRoute): string {
  const encode = encodeURIComponent;
  if (route.page === 'runs') return '/';
  if (route.page === 'diff') return `/diff/${encode(route.a)}..${encode(route.b)}`;
  const parts = [route.run, segmentOf(route.page), route.id].filter((part) => part !== '');
  return `/r/${parts.map(encode).join('/')}`;
}

/** The address of a view's data. */
export function dataPath(path: string): string {
  return `${path === '/' ? '/runs' : path}.json`;
}
