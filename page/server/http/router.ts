/**
 * Which twin an address is. Names in an address are looked up (runs by their names, topics by theirs, assets
 * by a list), never joined into a file name.
 */
import { MillraceError } from '../../../base/index.ts';
import { limits } from '../../wire/index.ts';
import { type Moment, momentOf } from '../run/moment.ts';
import type { RunView } from '../run/runView.ts';
import { topicNamed } from '../run/topicList.ts';
import { diffTwin } from '../views/diff.ts';
import { metricsTwin, type Range, whole } from '../views/metrics.ts';
import { overviewTwin } from '../views/overview.ts';
import { axes, isAxis, paretoTwin, roundOf } from '../views/pareto.ts';
import { questionTwin } from '../views/question.ts';
import { replayTwin } from '../views/replay.ts';
import { topicsTwin, topicTwin } from '../views/topic.ts';
import { tokensOf, trajectoryTwin } from '../views/trajectory.ts';
import { weightsTwin } from '../views/weights.ts';
import { type Answer, json } from './answers.ts';
import type { Divergences } from './divergences.ts';
import type { HotRuns } from './hotRuns.ts';
import type { RunsFolder } from './runsFolder.ts';

export interface Served {
  readonly hot: HotRuns;
  readonly folder: RunsFolder;
  readonly divergences: Divergences;
}

type Query = URLSearchParams;
type OfRun = (at: {
  readonly view: RunView;
  readonly moment: Moment;
  readonly query: Query;
  readonly names: readonly string[];
  readonly served: Served;
}) => Promise<Answer>;

interface Route {
  readonly path: RegExp;
  readonly answer: OfRun;
}

/** Behind `/r/RUN`. */
const routes: readonly Route[] = [
  { path: /^\.json$/, answer: async ({ view, moment }) => json(await overviewTwin(view, moment)) },
  { path: /^\/metrics\.json$/, answer: metrics },
  {
    path: /^\/topics\.json$/,
    answer: async ({ view, moment }) => json(await topicsTwin(view, moment)),
  },
  { path: /^\/topics\/([^/]+)\.(json|ndjson)$/, answer: topic },
  { path: /^\/pareto\.json$/, answer: pareto },
  {
    path: /^\/weights\/(\d{1,12})\.json$/,
    answer: async ({ view, moment, names: [version] }) =>
      json(await weightsTwin(view, moment, Number(version))),
  },
  { path: /^\/replay\.json$/, answer: async ({ view }) => json(await replayTwin(view)) },
  {
    path: /^\/q\/([^/]+)\.json$/,
    answer: async ({ view, moment, names: [id = ''] }) =>
      json(await questionTwin(view, moment, id)),
  },
  {
    path: /^\/t\/([^/]+)\.json$/,
    answer: async ({ view, moment, names: [ref = ''], query }) =>
      json(await trajectoryTwin(view, moment, { ref, full: query.get('full') === '1' })),
  },
  {
    path: /^\/t\/([^/]+)\/tokens\.bin$/,
    answer: async ({ view, moment, names: [ref = ''] }) => {
      const body = await tokensOf(view, moment, ref);
      return { status: 200, type: 'application/octet-stream', body };
    },
  },
];

/** Null where the address is none of the data's. */
export async function dataAt(path: string, query: Query, served: Served): Promise<Answer | null> {
  if (path === '/runs.json') return json(await served.folder.list());
  const [, a, b] = /^\/diff\/([\w-]{1,200})\.\.([\w-]{1,200})\.json$/.exec(path) ?? [];
  if (a !== undefined && b !== undefined) return diff(a, b, served);
  const [, run, rest] = /^\/r\/([^/.]{1,200})(\.json|\/.+)$/.exec(path) ?? [];
  if (run === undefined || rest === undefined) return null;
  for (const route of routes) {
    const names = route.path.exec(rest)?.slice(1).map(decoded);
    if (names === undefined) continue;
    return served.hot.with(decoded(run), async (view) => {
      await view.ready();
      const { log } = view.viewed;
      const moment = await momentOf(query.get('at') ?? undefined, { log, timeline: view.timeline });
      return route.answer({ view, moment, query, names, served });
    });
  }
  return null;
}

async function diff(a: string, b: string, { hot, divergences }: Served): Promise<Answer> {
  return hot.with(a, (first) =>
    hot.with(b, async (second) => {
      await Promise.all([first.ready(), second.ready()]);
      return json(await diffTwin(first, second, await divergences.of(a, b)));
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

async function metrics({ view, moment, query, served }: Parameters<OfRun>[0]): Promise<Answer> {
  const names = listIn(query, 'm');
  const others = listIn(query, 'with');
  if (others.length > limits.withMax) {
    throw new MillraceError('USAGE', `with= takes at most ${limits.withMax} runs`);
  }
  const beside: RunView[] = [];
  const missing: string[] = [];
  const releases: (() => void)[] = [];
  try {
    for (const name of others) {
      const taken = await served.hot.take(name).catch(() => null);
      if (taken === null) missing.push(name);
      else {
        releases.push(taken.release);
        await taken.view.ready();
        beside.push(taken.view);
      }
    }
    const asked = { names, range: rangeIn(query), beside, missing };
    return json(await metricsTwin(view, moment, asked));
  } finally {
    for (const release of releases) release();
  }
}

async function pareto({ view, moment, query }: Parameters<OfRun>[0]): Promise<Answer> {
  const [x, y] = [query.get('x') ?? 'calls', query.get('y') ?? 'correct'];
  if (!isAxis(x) || !isAxis(y)) {
    throw new MillraceError('USAGE', `x= and y= take ${axes.map(({ name }) => name).join(', ')}`);
  }
  const step = numberIn(query, 'step');
  const round =
    numberIn(query, 'round') ??
    (step === undefined ? undefined : await roundOf(view.viewed.log, moment, step));
  return json(await paretoTwin(view, moment, { round, x, y }));
}

async function topic({ view, moment, query, names }: Parameters<OfRun>[0]): Promise<Answer> {
  const [name = '', format] = names;
  const found = await topicNamed(view.viewed.log, name);
  const dir = query.get('dir') ?? 'back';
  if (dir !== 'back' && dir !== 'on') throw new MillraceError('USAGE', 'dir= takes back or on');
  const limit = Math.trunc(numberIn(query, 'limit') ?? limits.rowsDefault);
  if (limit < 1 || limit > limits.rowsMax) {
    throw new MillraceError('USAGE', `limit= takes 1 to ${limits.rowsMax}`);
  }
  const full = query.get('full') === '1';
  if (full && limit > 1) throw new MillraceError('USAGE', 'full=1 needs limit=1');
  const twin = await topicTwin(view, found, moment, {
    offset: query.get('offset') ?? undefined,
    dir,
    where: query.get('where') ?? '',
    key: query.get('key') ?? undefined,
    limit,
    full,
  });
  if (format === 'json') return json(twin);
  const lines = twin.rows.map((row) => `${JSON.stringify(row)}\n`);
  return { status: 200, type: 'application/x-ndjson; charset=utf-8', body: lines.join('') };
}

function rangeIn(query: Query): Range {
  const x = query.get('x') ?? 'step';
  if (x !== 'step' && x !== 'time' && x !== 'tokens') {
    throw new MillraceError('USAGE', 'x= takes step, time or tokens');
  }
  return {
    x,
    from: numberIn(query, 'from') ?? whole.from,
    to: numberIn(query, 'to') ?? whole.to,
    most: numberIn(query, 'n') ?? whole.most,
  };
}

/** Separated by commas. */
function listIn(query: Query, name: string): string[] {
  return (query.get(name) ?? '').split(',').filter((one) => one !== '');
}

/** Fails with code `USAGE`. */
export function numberIn(query: Query, name: string): number | undefined {
  const text = query.get(name);
  if (text === null || text === '') return undefined;
  const value = Number(text);
  if (Number.isFinite(value)) return value;
  throw new MillraceError('USAGE', `${name}= takes a number`);
}
