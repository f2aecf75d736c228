/**
 * Where the page is: one signal, bound to the address. A served page uses paths; one frozen into a file keeps
 * path and query after the `#`, since a file has one path alone.
 */
import { computed, signal } from '@preact/signals';
import type { KnownRoute } from '../../wire/index.ts';
import {
  hrefOf,
  type Query,
  queryOf,
  type Route,
  routeOf,
  searchOf,
  withQuery,
} from '../logic/route.ts';
import { frozen } from './frozen.ts';

interface Place {
  readonly path: string;
  readonly query: Query;
}

function read(): Place {
  if (frozen === null) return { path: location.pathname, query: queryOf(location.search) };
  const [path, search = ''] = (location.hash.slice(1) || frozen.start).split('?');
  return { path: path!, query: queryOf(search) };
}

export const place = signal<Place>(read());
export const route = computed<Route>(() => routeOf(place.value.path));
export const query = computed<Query>(() => place.value.query);
/** The parameter that every page of a run knows: as of when it shows what it shows. */
export const at = computed<string>(() => place.value.query.at ?? '');

/** What an anchor has, so that links can be opened in another tab and copied. */
export const linkTo = (href: string): string => (frozen === null ? href : `#${href}`);

/**
 * The same with the view's `at`: a reader at step 120 stays there from page to page. Results are only of the
 * last step.
 */
export function linkAt(to: KnownRoute, over: Query = {}): string {
  const isNow = at.value === '' || to.page === 'results';
  return linkTo(hrefOf(to, isNow ? over : { at: at.value, ...over }));
}

export function go(href: string, replace = false): void {
  const bare = href.startsWith('#') ? href.slice(1) : href;
  history[replace ? 'replaceState' : 'pushState'](null, '', linkTo(bare));
  place.value = read();
  if (!replace) scrollTo(0, 0);
}

/** Changes parameters of this view; what the view does not know stays. */
export function setQuery(over: Readonly<Record<string, string | undefined>>, replace = true): void {
  const { path, query: now } = place.value;
  const next = path + searchOf(withQuery(now, over));
  history[replace ? 'replaceState' : 'pushState'](null, '', linkTo(next));
  place.value = read();
}

addEventListener('popstate', () => {
  place.value = read();
});
addEventListener('hashchange', () => {
  if (frozen !== null) place.value = read();
});

/** Clicks on links of our own change the view in place. */
document.addEventListener('click', (event) => {
  if (event.defaultPrevented || event.button !== 0) return;
  if (event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
  const link = (event.target as Element | null)?.closest?.('a[href]');
  const href = link?.getAttribute('href') ?? '';
  if (link === null || link?.hasAttribute('download') || link?.hasAttribute('target')) return;
  if (!href.startsWith(frozen === null ? '/' : '#/')) return;
  event.preventDefault();
  go(href);
});
