/** How fast each topic grew in the last five minutes, from its sizes as they were seen. So many numbers a topic, no more. */
import type { TopicStat } from '../../streams/log.ts';

const STEP_MS = 5_000;
const POINTS_MAX = 60;
/** A rate of now is over at least this long. */
const NOW_MS = 800;

interface Topic {
  records: number;
  atMs: number;
  perSecond: number | null;
  /** At the last point of the spark line. */
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
  return { records, atMs, perSecond: null, grewMs: null, ...spark };
}

function update(topic: Topic, records: number, nowMs: number): void {
  const ms = nowMs - topic.atMs;
  if (records > topic.records) topic.grewMs = nowMs;
  if (ms >= NOW_MS) {
    topic.perSecond = Math.max(0, (1000 * (records - topic.records)) / ms);
    topic.records = records;
    topic.atMs = nowMs;
  }
  const sparkMs = nowMs - topic.sparkMs;
  if (sparkMs < STEP_MS) return;
  topic.spark.push(Math.max(0, (1000 * (records - topic.sparkRecords)) / sparkMs));
  if (topic.spark.length > POINTS_MAX) topic.spark.shift();
  topic.sparkRecords = records;
  topic.sparkMs = nowMs;
}
