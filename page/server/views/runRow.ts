/** A run in the list of runs: what a glance at its log shows. */
import type { Log, Topic } from '../../../streams/index.ts';
import type { WorkerStatus } from '../../../streams/run/index.ts';
import type { RunFacts } from '../../../summary/facts/index.ts';
import { metricNames, statusesIn, Workers } from '../../../summary/index.ts';
import { figures } from '../../../summary/tables/index.ts';
import { topics } from '../../../topics/index.ts';
import type { RunRow } from '../../wire/index.ts';
import { Damage } from '../run/damage.ts';
import { type HeadParts, headOf } from '../run/head.ts';
import { stretch } from '../run/records.ts';
import { finite } from '../run/shown.ts';

/** Records of `metrics`: there are a few dozen names per step. */
const METRICS_LAST = 1_500;
const ACCURACY = figures.find(({ key }) => key === 'accuracy')!.metric;
const SPARK = 40;

export interface Glance {
  readonly newest: { readonly step: number; readonly version: number } | null;
  readonly metric: string | null;
  readonly values: readonly number[];
  /** On held-out questions, as measured last. */
  readonly accuracy: number | null;
  readonly said: readonly WorkerStatus[];
  /** Whether what was read is damaged. */
  readonly damaged: boolean;
}

/** The newest weights, the last values of what training is for, and the last report of its processes. */
export async function glance(whole: Log): Promise<Glance> {
  const damage = new Damage();
  const log = damage.noted(whole);
  const [newest = null] = await last(log, topics.weights, 1);
  const metrics = await last(log, topics.metrics, METRICS_LAST);
  const of = (name: string): number[] =>
    metrics.filter((metric) => metric.name === name).map(({ value }) => value);
  const reward = of(metricNames.reward);
  const [metric, values] =
    reward.length > 0 ? [metricNames.reward, reward] : [metricNames.loss, of(metricNames.loss)];
  const known = values.filter(Number.isFinite).slice(-SPARK);
  return {
    newest,
    metric: known.length === 0 ? null : metric,
    values: known,
    accuracy: (await accuracyOf(log)) ?? of(ACCURACY).at(-1) ?? null,
    said: statusesIn((await log.posted?.()) ?? []),
    damaged: damage.text('') !== '',
  };
}

/** Records of `metrics` among which the log's index looks for the last measurement. */
const MEASURED_LAST = 100_000;

/** Through the log's index, if it has one: the measurement may be older than the last values. */
async function accuracyOf(log: Log): Promise<number | null> {
  if (log.standing === undefined) return null;
  const { rows } = await stretch(log, topics.metrics, {
    from: { kind: 'last', count: MEASURED_LAST },
    only: { keys: [ACCURACY] },
  });
  return rows.at(-1)?.value.value ?? null;
}

async function last<T>(log: Log, topic: Topic<T>, count: number): Promise<T[]> {
  const values: T[] = [];
  const from = { kind: 'last', count } as const;
  await log
    .tap(topic, { from, follow: false, unreadable: () => undefined })
    .forEach(({ value }) => void values.push(value));
  return values;
}

export interface RowParts {
  readonly viewed: HeadParts['viewed'];
  readonly facts: RunFacts;
  /** Null if its log was not opened. */
  readonly seen: Glance | null;
  /** Why it could not be opened; empty if it was, or was not tried. */
  readonly problem: string;
  /** Whether that is because it is damaged. */
  readonly damaged: boolean;
  readonly nowMs: number;
}

export function rowOf(parts: RowParts): RunRow {
  const { viewed, facts, seen, problem, nowMs } = parts;
  const workers = new Workers().update(seen?.said ?? []).map(({ now }) => ({
    ...now,
    silentMs: Math.max(0, nowMs - now.atMs),
  }));
  const head = headOf({
    viewed,
    facts,
    live: { workers, atMs: nowMs },
    newest: seen?.newest ?? null,
    damaged: seen?.damaged ?? parts.damaged,
  });
  const spark = seen?.values ?? [];
  // A log that was not read cannot tell who is still working on it.
  const isOpen = seen === null && facts.status === 'running' && !parts.damaged;
  const unread = isOpen ? ({ state: 'unknown' } as const) : {};
  const stateText = seen === null ? problem : head.stateText;
  return {
    ...head,
    ...unread,
    stateText,
    pending: seen === null && problem === '' && !parts.damaged,
    accuracy: finite(seen?.accuracy),
    metric: seen?.metric ?? null,
    last: spark.at(-1) ?? null,
    spark,
  };
}
