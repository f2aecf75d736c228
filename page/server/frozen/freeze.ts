/**
 * A run's data gathered for a page in one file: all of its first pages, and some trajectories, from its
 * beginning and its end. The page says what was left out. Its first view is the results, which the file has
 * as well.
 */

import { thousands } from '../../../base/text/index.ts';
import { size } from '../../../summary/format/index.ts';
import { topics } from '../../../topics/index.ts';
import {
  dataPath,
  type Frozen,
  frozenKey,
  type OverviewData,
  type ParetoData,
  pathOf,
  type QuestionData,
  type RunPage,
  type RunsData,
  runPages,
  runViews,
  type TopicData,
  WIRE,
} from '../../wire/index.ts';
import { terms } from '../http/terms.ts';
import { type FoundGroups, groupsOf } from '../run/groups.ts';
import { limits } from '../run/limits.ts';
import { now } from '../run/moment.ts';
import { recordsAt, stretch } from '../run/records.ts';
import { refOf } from '../run/refs.ts';
import type { RunView } from '../run/runView.ts';
import type { Asked } from '../views/asked.ts';
import { withTokens } from '../views/trajectory.ts';
import { servedView } from '../views/views.ts';
import { weightsData } from '../views/weights.ts';

export interface FreezeOptions {
  readonly trajectoriesMax: number;
  /** As JSON. */
  readonly bytesMax: number;
  readonly millrace: string;
}

const BUCKETS = 800;
const ROWS = 50;
const WEIGHTS = 32;
/** Groups searched for trajectories, at each end of the run. */
const GROUPS = 100;
/** Records read to find them. */
const SCANNED_MAX = 1_000_000;

/** Null if not even the overview fits. */
export async function freeze(view: RunView, options: FreezeOptions): Promise<Frozen | null> {
  const { name, clock, typed } = view.viewed;
  const answers = new Answers(view, options.bytesMax);
  const list: RunsData = {
    wire: WIRE,
    nowMs: clock.now(),
    millrace: options.millrace,
    folder: '',
    runs: [
      {
        ...(await view.head()),
        ...{ pending: false, accuracy: null, metric: null, last: null, spark: [] },
      },
    ],
    total: 1,
    unreadable: [],
    commands: [],
    command: typed('millrace view'),
  };
  answers.put(dataPath('/'), list);
  answers.put('/terms.json', terms());
  const overview = await answers.ask<OverviewData>('overview');
  if (!answers.put(answers.at('overview'), overview)) return null;
  await answers.add('replay');
  await answers.add('topics');
  const metrics = view.book.names.map((metric) => metric.name).slice(0, limits.metricsMax);
  await answers.add('metrics', '', { m: metrics.join(','), n: String(BUCKETS) });
  const { rounds } = await answers.add<ParetoData>('pareto');
  for (const { round } of rounds) await answers.add('pareto', '', { round: String(round) });
  for (const { name: topic } of overview.mill.topics) {
    const rows = await answers.ask<TopicData>('topics', topic, { limit: String(ROWS) });
    answers.put(answers.at('topics', topic), { ...rows, next: null });
  }
  const versions = view.timeline.marks.slice(-WEIGHTS).map(({ version }) => version);
  for (const weights of versions.length === 0 ? [] : await weightsData(view, now, versions)) {
    answers.put(answers.at('weights', String(weights.version)), weights);
  }
  for (const page of runPages.filter(needsOnlyRun)) {
    if (!(answers.at(page) in answers.json)) await answers.add(page);
  }
  const shown = await addTrajectories(view, answers, options);
  const rollouts = overview.mill.topics.find((topic) => topic.name === topics.rollouts.name);
  const all = rollouts?.records ?? 0;
  const full = answers.isFull ? `, since the file holds at most ${size(options.bytesMax)}` : '';
  return {
    wire: WIRE,
    frozenMs: clock.now(),
    start: pathOf({ page: 'results', run: name, id: '' }),
    json: answers.json,
    bins: answers.bins,
    leftOut:
      shown < all ? `It holds ${thousands(shown)} of ${thousands(all)} trajectories${full}.` : '',
  };
}

function needsOnlyRun(page: RunPage): boolean {
  // The file has the report instead.
  return runViews[page].id === undefined && page !== 'results';
}

type Query = Readonly<Record<string, string>>;

/** The server's answers for the views of a run, collected until they exceed the limit. */
class Answers {
  readonly json: Record<string, unknown> = {};
  readonly bins: Record<string, string> = {};
  readonly #view: RunView;
  readonly #groupsOf = keepingLast();
  #left: number;
  isFull = false;

  constructor(view: RunView, bytesMax: number) {
    this.#view = view;
    this.#left = bytesMax;
  }

  at(page: RunPage, id = '', query: Query = {}): string {
    return frozenKey(dataPath(pathOf({ page, run: this.#view.viewed.name, id })), query);
  }

  async ask<Data>(page: RunPage, id = '', query: Query = {}): Promise<Data> {
    const { data } = await servedView(page);
    return (await data(this.#asked(id, query))) as Data;
  }

  async add<Data>(page: RunPage, id = '', query: Query = {}): Promise<Data> {
    const data = await this.ask<Data>(page, id, query);
    this.put(this.at(page, id, query), data);
    return data;
  }

  /** Whether it fitted. */
  put(key: string, data: unknown): boolean {
    const goesIn = this.#takes(key, Buffer.byteLength(JSON.stringify(data)));
    if (goesIn) this.json[key] = data;
    return goesIn;
  }

  /** A rollout, and its tokens if there is room for them. Tells whether it fitted. */
  async addTrajectory(ref: string): Promise<boolean> {
    const { data, tokens } = await withTokens(this.#asked(ref, {}));
    if (!this.put(this.at('trajectory', ref), data)) return false;
    const bytes = tokens();
    if (data.tokens === null || bytes === null) return true;
    const { href } = data.tokens;
    const text = Buffer.from(bytes).toString('base64');
    if (this.#takes(href, text.length)) this.bins[href] = text;
    return true;
  }

  #asked(id: string, query: Query): Asked {
    return {
      view: this.#view,
      moment: now,
      id,
      query: new URLSearchParams(query),
      groupsOf: this.#groupsOf,
      others: { withAll: (names, use) => use([], names) },
    };
  }

  #takes(key: string, bytes: number): boolean {
    const needed = key.length + bytes + 8;
    if (needed > this.#left) {
      this.isFull = true;
      return false;
    }
    this.#left -= needed;
    return true;
  }
}

/** A question is followed by its trajectories, so the records of all its groups are read only once. */
function keepingLast(): typeof groupsOf {
  let last: { readonly id: string; readonly found: FoundGroups } | null = null;
  return async (log, moment, of) => {
    const { id, askedIn } = of;
    if (last?.id !== id) last = { id, found: await groupsOf(log, moment, { id, askedIn }) };
    const { found } = last;
    const isWhole = found.groups.length === found.total;
    return of.only === undefined || isWhole ? found : groupsOf(log, moment, of);
  };
}

/** How many fitted, taking groups from the end and the beginning in turn. */
async function addTrajectories(
  view: RunView,
  answers: Answers,
  { trajectoriesMax }: FreezeOptions,
): Promise<number> {
  let count = 0;
  let scanned = 0;
  for (const { refs, question } of await groupsAtEnds(view)) {
    const data = await answers.ask<QuestionData>('question', question);
    // A log without an index of keys is read from end to end for each of them.
    scanned += data.scanned * (1 + refs.length);
    if (scanned > SCANNED_MAX) return count;
    for (const ref of refs) {
      if (count >= trajectoriesMax || !(await answers.addTrajectory(ref))) return count;
      count += 1;
    }
    const at = answers.at('question', question);
    if (!(at in answers.json)) answers.put(at, data);
  }
  return count;
}

async function groupsAtEnds({
  viewed: { log },
}: RunView): Promise<readonly { readonly refs: readonly string[]; readonly question: string }[]> {
  const first = await stretch(log, topics.scored, {
    from: { kind: 'earliest' },
    to: { kind: 'offset', offset: GROUPS },
  });
  const last = await stretch(log, topics.scored, { from: { kind: 'last', count: GROUPS } });
  const turns = Array.from({ length: GROUPS }, (_, i) => [last.rows.at(-1 - i), first.rows[i]]);
  const groups = new Map(
    turns
      .flat()
      .filter((group) => group !== undefined)
      .map((group) => [refOf(group.position), group.value]),
  );
  const positions = [...groups.values()].flatMap(({ rollouts }) => rollouts);
  const there = await recordsAt(log, topics.rollouts, positions);
  return [...groups.values()].map(({ question, rollouts }) => ({
    question: question.id,
    refs: rollouts.map(refOf).filter((ref) => there.has(ref)),
  }));
}
