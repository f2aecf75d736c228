/**
 * Addresses of the page: a path is one view, its query is that view's state. Ids stand in a path as they are in the log,
 * percent-encoded; what may hold slashes (a question, a rollout) is the rest of the path.
 */

export type Route =
  | { readonly page: 'runs' }
  | { readonly page: 'diff'; readonly a: string; readonly b: string }
  | { readonly page: RunPage; readonly run: string; readonly id: string }
  | { readonly page: 'unknown'; readonly path: string };

/** The pages of one run. `id` is a topic, question, rollout or version; empty on the others and on lists. */
export type RunPage =
  | 'results'
  | 'overview'
  | 'metrics'
  | 'topics'
  | 'pareto'
  | 'question'
  | 'trajectory'
  | 'weights'
  | 'replay';

/** What stands in the path after the run. */
const segments: Readonly<Record<Exclude<RunPage, 'overview'>, string>> = {
  results: 'results',
  metrics: 'metrics',
  topics: 'topics',
  pareto: 'pareto',
  question: 'q',
  trajectory: 't',
  weights: 'weights',
  replay: 'replay',
};

/** Of these there is one a run: nothing may follow. */
const whole: ReadonlySet<string> = new Set(['results', 'metrics', 'pareto', 'replay']);

export function routeOf(path: string): Route {
  const unknown: Route = { page: 'unknown', path };
  const parts = path.split('/').slice(1);
  if (parts.at(-1) === '') parts.pop();
  const decoded = parts.map(decodedPart);
  if (decoded.includes(null)) return unknown;
  const [first, second, third, ...rest] = decoded as string[];
  if (first === undefined) return { page: 'runs' };
  if (first === 'diff' && second !== undefined && third === undefined) {
    const [a, b, more] = second.split('..');
    return a && b && more === undefined ? { page: 'diff', a, b } : unknown;
  }
  if (first !== 'r' || !second) return unknown;
  if (third === undefined) return { page: 'overview', run: second, id: '' };
  const page = (Object.keys(segments) as (keyof typeof segments)[]).find(
    (name) => segments[name] === third,
  );
  const id = rest.join('/');
  if (page === undefined || (whole.has(page) && id !== '')) return unknown;
  if ((page === 'question' || page === 'trajectory') && id === '') return unknown;
  return { page, run: second, id };
}

function decodedPart(part: string): string | null {
  try {
    return decodeURIComponent(part);
  } catch {
    return null;
  }
}

export function pathOf(route: Route): string {
  switch (route.page) {
    case 'runs':
      return '/';
    case 'diff':
      return `/diff/${encodeURIComponent(route.a)}..${encodeURIComponent(route.b)}`;
    case 'unknown':
      return route.path;
    case 'overview':
      return `/r/${encodeURIComponent(route.run)}`;
    default: {
      const id = route.id === '' ? '' : `/${encodeURIComponent(route.id)}`;
      return `/r/${encodeURIComponent(route.run)}/${segments[route.page]}${id}`;
    }
  }
}

/** Parameters of a view. Those that a page does not know are kept. */
export type Query = Readonly<Record<string, string>>;

export function queryOf(search: string): Query {
  return Object.fromEntries(new URLSearchParams(search));
}

/** The query with some of it set; an empty value or undefined takes a parameter away. */
export function withQuery(query: Query, over: Readonly<Record<string, string | undefined>>): Query {
  return Object.fromEntries(
    Object.entries({ ...query, ...over }).filter(
      (entry): entry is [string, string] => entry[1] !== undefined && entry[1] !== '',
    ),
  );
}

export function searchOf(query: Query): string {
  // Commas, slashes and colons stand as they are: such links are read and edited by people.
  const text = new URLSearchParams(query)
    .toString()
    .replace(/%2C/g, ',')
    .replace(/%2F/g, '/')
    .replace(/%3A/g, ':');
  return text === '' ? '' : `?${text}`;
}

export function hrefOf(route: Route, query: Query = {}): string {
  return pathOf(route) + searchOf(query);
}

/** Address of the data behind a view. */
export function twinOf(path: string, query: Query = {}): string {
  return `${path === '/' ? '/runs' : path}.json${searchOf(query)}`;
}

/** The step that `at=step:120` names; null where the view is live or stands at something else. */
export function stepOf(query: Query): number | null {
  const match = /^step:(\d+)$/.exec(query.at ?? '');
  return match === null ? null : Number(match[1]);
}
