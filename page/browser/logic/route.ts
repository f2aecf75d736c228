/**
 * Addresses of the page as the browser has them: a view, or a path without one, and the query that is its
 * state.
 */
import { dataPath, type KnownRoute, pathOf, type RunPage, routeAt } from '../../wire/index.ts';

export { pathOf, type RunPage };

export type Route = KnownRoute | { readonly page: 'unknown'; readonly path: string };

export function routeOf(path: string): Route {
  try {
    return routeAt(path) ?? { page: 'unknown', path };
  } catch {
    return { page: 'unknown', path };
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
  // Commas, slashes and colons stay as they are: such links are read and edited by people.
  const text = new URLSearchParams(query)
    .toString()
    .replace(/%2C/g, ',')
    .replace(/%2F/g, '/')
    .replace(/%3A/g, ':');
  return text === '' ? '' : `?${text}`;
}

export function hrefOf(route: KnownRoute, query: Query = {}): string {
  return pathOf(route) + searchOf(query);
}

/** Address of the data of a view. */
export function dataUrl(path: string, query: Query = {}): string {
  return dataPath(path) + searchOf(query);
}

/** The step that `at=step:120` names; null if the view is live or at something else. */
export function stepOf(query: Query): number | null {
  const match = /^step:(\d+)$/.exec(query.at ?? '');
  return match === null ? null : Number(match[1]);
}
