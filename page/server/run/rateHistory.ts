/**
 * How fast each topic grew, by the sizes it had at each look: now, over the same half minute as the rates of
 * stages, and over the last five minutes. A bounded number of values per topic.
 */
import type { TopicStat } from '../../../streams/index.ts';

const STEP_MS = 5_000;
const POINTS_MAX = 60;
/** The current rate covers at least this long, and at most as long as the rates of stages. */
const NOW_MS = 800;
const WINDOW_MS = 30_000;
/** Time between two sizes that are kept. */
const SEEN_EVERY_MS = 1_000;

interface Seen {
  readonly records: number;
  readonly atMs: number;
}

interface Topic {
  records: number;
  /** Sizes during the last half minute, oldest first. */
  readonly seen: Seen[];
  perSecond: number | null;
  /** The size at the last point of the spark line. */
  sparkRecords: number;
  sparkMs: number;
  readonly spark: number[];
  /** When it was last seen to have grown. */
  grewMs: number | null;
}

export class RateHistory {
  readonly #topics = new Map<string, Topic>();

  add(stats: readonly TopicStat[], nowMs: number): void {
    for (const { topic, records } of stats) {
      const known = this.#topics.get(topic);
      if (known === undefined) this.#topics.set(topic, first(records, nowMs));
      else update(known, records, nowMs);
    }
  }

  of(topic: string): Readonly<Pick<Topic, 'perSecond' | 'spark' | 'grewMs'>> {
    return this.#topics.get(topic) ?? { perSecond: null, spark: [], grewMs: null };
  }
}

function first(records: number, atMs: number): Topic {
  const spark = { sparkRecords: records, sparkMs: atMs, spark: [] };
  return { records, seen: [{ records, atMs }], perSecond: null, grewMs: null, ...spark };
}

function update(topic: Topic, records: number, nowMs: number): void {
  const { seen } = topic;
  if (records > topic.records) topic.grewMs = nowMs;
  topic.records = records;
  while (seen.length > 1 && nowMs - seen[1]!.atMs >= WINDOW_MS) seen.shift();
  const [since] = seen as [Seen, ...Seen[]];
  const ms = nowMs - since.atMs;
  if (ms >= NOW_MS) topic.perSecond = Math.max(0, (1000 * (records - since.records)) / ms);
  if (nowMs - seen.at(-1)!.atMs >= SEEN_EVERY_MS) seen.push({ records, atMs: nowMs });
  const sparkMs = nowMs - topic.sparkMs;
  if (sparkMs < STEP_MS) return;
  topic.spark.push(Math.max(0, (1000 * (records - topic.sparkRecords)) / sparkMs));
  if (topic.spark.length > POINTS_MAX) topic.spark.shift();
  topic.sparkRecords = records;
  topic.sparkMs = nowMs;
}
