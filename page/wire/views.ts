/**
 * Every view of the page: its address, the key that leads to it, its tab. What the server computes for a view is listed
 * in page/server/views/views.ts, what the browser draws in page/browser/views.tsx; a view that one of them lacks does
 * not compile.
 *
 * A path is one view, its query that view's state, and the same path with `.json` is the view's data. Names stand in a
 * path as they are in the log, percent-encoded; what may hold slashes (a question, a rollout) is the rest of the path.
 */

interface RunView {
  /** What stands in the path after the run. */
  readonly segment: string;
  /** The name that follows: of a topic, question, rollout or version. */
  readonly id: 'never' | 'perhaps' | 'always';
  readonly tab?: string;
  /** Keys that lead to it, and what the list of keys says of them. */
  readonly keys?: readonly [keys: string, about: string];
}

/** In the order of their tabs. */
const ofRun = {
  overview: { segment: '', id: 'never', tab: 'Overview', keys: ['g o', 'overview'] },
  metrics: { segment: 'metrics', id: 'never', tab: 'Metrics', keys: ['g m', 'metrics'] },
  topics: { segment: 'topics', id: 'perhaps', tab: 'Topics', keys: ['g t', 'topics'] },
  pareto: { segment: 'pareto', id: 'never', tab: 'Pareto', keys: ['g p', 'Pareto'] },
  question: { segment: 'q', id: 'always' },
  trajectory: { segment: 't', id: 'always' },
  weights: { segment: 'weights', id: 'perhaps', tab: 'Weights', keys: ['g w', 'weights'] },
  replay: { segment: 'replay', id: 'never', tab: 'Replay', keys: ['g r', 'replay'] },
  /** Only a page in a file has it. */
  results: { segment: 'results', id: 'never', keys: ['g s', 'results, in a report'] },
} as const satisfies Readonly<Record<string, RunView>>;

/** The views of one run. */
export type RunPage = keyof typeof ofRun;

export const runViews: Readonly<Record<RunPage, RunView>> = ofRun;

export const runPages = Object.keys(runViews) as readonly RunPage[];

export interface RunRoute {
  readonly page: RunPage;
  readonly run: string;
  /** Empty where the view has none. */
  readonly id: string;
}

export type KnownRoute =
  | { readonly page: 'runs' }
  | { readonly page: 'diff'; readonly a: string; readonly b: string }
  | RunRoute;

/** The view that a path names; null where it names none. Fails as `decode` does. */
export function routeAt(path: string, decode = decodeURIComponent): KnownRoute | null {
  if (path === '/') return { page: 'runs' };
  const [, a, b] = /^\/diff\/([^/.]{1,200})\.\.([^/.]{1,200})\/?$/.exec(path) ?? [];
  if (a !== undefined && b !== undefined) return { page: 'diff', a: decode(a), b: decode(b) };
  const [, run, segment = '', rest = ''] =
    /^\/r\/([^/.]{1,200})(?:\/([^/]*)(?:\/(.*))?)?$/.exec(path) ?? [];
  const page = runPages.find((name) => runViews[name].segment === segment);
  if (run === undefined || page === undefined) return null;
  const raw = rest.replace(/\/$/, '');
  const { id } = runViews[page];
  if ((id === 'never' && raw !== '') || (id === 'always' && raw === '')) return null;
  return { page, run: decode(run), id: decode(raw) };
}

export function pathOf(route: KnownRoute): string {
  const encode = encodeURIComponent;
  if (route.page === 'runs') return '/';
  if (route.page === 'diff') return `/diff/${encode(route.a)}..${encode(route.b)}`;
  const { segment } = runViews[route.page];
  const parts = [route.run, segment, route.id].filter((part) => part !== '');
  return `/r/${parts.map(encode).join('/')}`;
}

/** Where the data of a view are. */
export function dataPath(path: string): string {
  return `${path === '/' ? '/runs' : path}.json`;
}
