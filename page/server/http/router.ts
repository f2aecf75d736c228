/**
 * Which data an address refers to. Names in an address are looked up (runs by their names, topics by theirs,
 * assets by a list), never joined into a file name.
 */
import { MillraceError } from '../../../base/index.ts';
import { dataPath, routeAt } from '../../wire/index.ts';
import { groupsOf } from '../run/groups.ts';
import { momentOf } from '../run/moment.ts';
import type { Asked } from '../views/asked.ts';
import { diffData } from '../views/diff.ts';
import { servedView } from '../views/views.ts';
import { type Answer, json } from './answers.ts';
import type { Comparisons } from './comparisons.ts';
import type { HotRuns } from './hotRuns.ts';
import type { RunsFolder } from './runsFolder.ts';
import { terms } from './terms.ts';

export interface Served {
  readonly hot: HotRuns;
  readonly folder: RunsFolder;
  readonly comparisons: Comparisons;
}

const dataAddress = /^(.+?)(\.json|\.ndjson|\/tokens\.bin)$/;

/** Whether an address is a view, which the client draws. */
export function isView(path: string): boolean {
  return !/\.(json|ndjson|bin)$/.test(path) && routeAt(path, (text) => text) !== null;
}

/** Null if the address has no data. */
export async function dataAt(
  path: string,
  query: URLSearchParams,
  served: Served,
): Promise<Answer | null> {
  if (path === dataPath('/')) return json(await served.folder.list());
  if (path === '/terms.json') return json(terms());
  const [, at = '', ending] = dataAddress.exec(path) ?? [];
  const route = routeAt(at, decoded);
  if (route === null || route.page === 'runs') return null;
  if (route.page === 'diff') return ending === '.json' ? diff(route.a, route.b, served) : null;
  const { data, other } = await servedView(route.page);
  const isOther = other?.ending === ending;
  if (!isOther && ending !== '.json') return null;
  return served.hot.with(route.run, async (view) => {
    const asked = await askedOf(view, route.id, query, served.hot);
    return isOther
      ? { status: 200, type: other.type, body: await other.body(asked) }
      : json(await data(asked));
  });
}

async function askedOf(
  view: Asked['view'],
  id: string,
  query: URLSearchParams,
  others: HotRuns,
): Promise<Asked> {
  await view.ready();
  const { log } = view.viewed;
  const moment = await momentOf(query.get('at') ?? undefined, { log, timeline: view.timeline });
  return { view, moment, id, query, groupsOf, others };
}

async function diff(a: string, b: string, { hot, comparisons }: Served): Promise<Answer> {
  return hot.with(a, (first) =>
    hot.with(b, async (second) => {
      await Promise.all([first.ready(), second.ready()]);
      return json(await diffData(first, second, await comparisons.of(a, b)));
    }),
  );
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    throw new MillraceError(
      'USAGE',
      `${JSON.stringify(text.slice(0, 80))} is not valid URL encoding`,
    );
  }
}
