/**
 * A run's twins gathered for a page in one file: all of its first pages, and so many trajectories, from its beginning and its
 * end. What does not go in is said. Its first view is the results, which the file holds beside them.
 */

import { size } from '../../../summary/format/index.ts';
import { topics } from '../../../topics/index.ts';
import {
  type Frozen,
  frozenKey,
  limits,
  type ParetoTwin,
  type RunsTwin,
  WIRE,
} from '../../wire/index.ts';
import { now } from '../run/moment.ts';
import { recordsAt, stretch } from '../run/records.ts';
import { refOf } from '../run/refs.ts';
import type { RunView } from '../run/runView.ts';
import { topicNamed } from '../run/topicList.ts';
import { metricsTwin, whole } from '../views/metrics.ts';
import { overviewTwin } from '../views/overview.ts';
import { paretoTwin } from '../views/pareto.ts';
import { questionTwin } from '../views/question.ts';
import { replayTwin } from '../views/replay.ts';
import { topicsTwin, topicTwin } from '../views/topic.ts';
import { tokensOf, trajectoryTwin } from '../views/trajectory.ts';
import { weightsTwin } from '../views/weights.ts';

export interface FreezeOptions {
  readonly trajectoriesMax: number;
  /** Of the data, as JSON. */
  readonly bytesMax: number;
  readonly millrace: string;
}

const BUCKETS = 800;
const ROWS = 50;
const WEIGHTS = 32;
/** Groups that are looked at for trajectories, at each end of the run. */
const GROUPS = 100;
/** Records that are read to find them. */
const SCANNED_MAX = 1_000_000;

/** Null where not even the overview goes in. */
export async function freeze(view: RunView, options: FreezeOptions): Promise<Frozen | null> {
  const { name, log, clock, program } = view.viewed;
  const at = `/r/${encodeURIComponent(name)}`;
  const data = new Data(options.bytesMax);
  const head = await view.head();
  const list: RunsTwin = {
    wire: WIRE,
    nowMs: clock.now(),
    millrace: options.millrace,
    folder: '',
    program,
    runs: [{ ...head, metric: null, last: null, spark: [] }],
    total: 1,
    unreadable: [],
    commands: [],
  };
  data.twin('/runs.json', list);
  const overview = await overviewTwin(view, now);
  if (!data.twin(`${at}.json`, overview)) return null;
  data.twin(`${at}/replay.json`, await replayTwin(view));
  data.twin(`${at}/topics.json`, await topicsTwin(view, now));
  await addCurves(view, at, data);
  await addPareto(view, at, data);
  for (const { name: topic } of overview.mill.topics) {
    const asked = { offset: undefined, dir: 'back', where: '', key: undefined } as const;
    const found = await topicNamed(log, topic);
    const twin = await topicTwin(view, found, now, { ...asked, limit: ROWS, full: false });
    data.twin(`${at}/topics/${encodeURIComponent(topic)}.json`, { ...twin, next: null });
  }
  for (const { version } of view.timeline.marks.slice(-WEIGHTS)) {
    data.twin(`${at}/weights/${version}.json`, await weightsTwin(view, now, version));
  }
  const shown = await addTrajectories(view, at, data, options);
  const rollouts = overview.mill.topics.find((topic) => topic.name === topics.rollouts.name);
  const all = rollouts?.records ?? 0;
  const full = data.isFull ? `, since the file holds at most ${size(options.bytesMax)}` : '';
  return {
    wire: WIRE,
    frozenMs: clock.now(),
    start: `${at}/results`,
    twins: data.twins,
    bins: data.bins,
    leftOut: shown < all ? `It holds ${shown} of ${all} trajectories${full}.` : '',
  };
}

/** Twins and their bytes, until they are too many. */
class Data {
  readonly twins: Record<string, unknown> = {};
  readonly bins: Record<string, string> = {};
  #left: number;
  isFull = false;

  constructor(bytesMax: number) {
    this.#left = bytesMax;
  }

  /** Whether it went in. */
  twin(key: string, value: unknown): boolean {
    const goesIn = this.#takes(key, Buffer.byteLength(JSON.stringify(value)));
    if (goesIn) this.twins[key] = value;
    return goesIn;
  }

  bin(key: string, bytes: Uint8Array): boolean {
    const text = Buffer.from(bytes).toString('base64');
    const goesIn = this.#takes(key, text.length);
    if (goesIn) this.bins[key] = text;
    return goesIn;
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

async function addCurves(view: RunView, at: string, data: Data): Promise<void> {
  const names = view.book.names.map(({ name }) => name).slice(0, limits.metricsMax);
  const range = { ...whole, most: BUCKETS };
  const asked = { names, range, beside: [], missing: [] };
  data.twin(`${at}/metrics.json`, await metricsTwin(view, now, asked));
}

async function addPareto(view: RunView, at: string, data: Data): Promise<void> {
  const asked = { round: undefined, x: 'calls', y: 'correct' } as const;
  const newest: ParetoTwin = await paretoTwin(view, now, asked);
  data.twin(`${at}/pareto.json`, newest);
  for (const round of newest.rounds) {
    const key = frozenKey(`${at}/pareto.json`, { round: String(round) });
    data.twin(key, await paretoTwin(view, now, { ...asked, round }));
  }
}

/** How many went in: groups of the end and of the beginning in turn. */
async function addTrajectories(
  view: RunView,
  at: string,
  data: Data,
  { trajectoriesMax }: FreezeOptions,
): Promise<number> {
  const questions = new Set<string>();
  let count = 0;
  let scanned = 0;
  for (const { refs, question } of await groupsAtEnds(view)) {
    const twin = await questionTwin(view, now, question);
    // A log without an index of keys is read through for each of them.
    scanned += twin.scanned * (1 + refs.length);
    if (scanned > SCANNED_MAX) return count;
    for (const ref of refs) {
      if (count >= trajectoriesMax || !(await addTrajectory(view, `${at}/t/${ref}`, ref, data))) {
        return count;
      }
      count += 1;
    }
    if (!questions.has(question)) data.twin(`${at}/q/${encodeURIComponent(question)}.json`, twin);
    questions.add(question);
  }
  return count;
}

/** Whether it went in. */
async function addTrajectory(view: RunView, at: string, ref: string, data: Data): Promise<boolean> {
  const twin = await trajectoryTwin(view, now, { ref, full: false });
  if (!data.twin(`${at}.json`, twin)) return false;
  if (twin.tokens !== null) data.bin(`${at}/tokens.bin`, await tokensOf(view, now, ref));
  return true;
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
