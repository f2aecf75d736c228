/**
 * Exports the metrics of a run to another program, starting where that program says it stopped.
 *
 * Guarantees: a target that keeps its contract (`MetricTarget`) gets each metric once, in the order of the
 * log, even if this process is killed and another one continues; nothing is written to the log, and only its
 * own batch waits for a target.
 */
import type { SleepClock } from '../../base/index.ts';
import type { Log, Stored } from '../../streams/index.ts';
import { type Metric, topics } from '../../topics/index.ts';
import { advanced, type Cursor, unread } from './cursor.ts';
import { gathered } from './gathered.ts';

/** The run that the metrics belong to. */
export interface RunAbout {
  readonly run: string;
  readonly job: string;
  readonly seed: number;
  /** Version of millrace that started it. */
  readonly millrace: string;
  /** When it was first started: distinguishes a run from an older one of the same name. */
  readonly startedMs: number;
  readonly settings: Readonly<Record<string, unknown>>;
}

/** The state of the run when the export ends. */
export interface RunEnd {
  readonly status: 'running' | 'done' | 'stopped' | 'failed';
  /** Null while it runs, or if unknown. */
  readonly endedMs: number | null;
}

/** An outside program that keeps metrics. */
export interface MetricTarget {
  /**
   * How far it has the metrics, asked again at every start: it must neither forget any nor claim any that it
   * lacks.
   */
  open(signal: AbortSignal): Promise<Cursor>;
  /**
   * Resolves once they are stored; `after` is the cursor after them. May take as long as it needs, until
   * `signal` aborts.
   */
  write(batch: readonly Stored<Metric>[], after: Cursor, signal: AbortSignal): Promise<void>;
  close(end: RunEnd, signal: AbortSignal): Promise<void>;
}

export interface ExportOptions {
  readonly log: Log;
  readonly clock: SleepClock;
  /** Aborts when nothing more will be written to the log; null = export what is there now. */
  readonly over: AbortSignal | null;
  /** Stops the export where it is. */
  readonly stop: AbortSignal;
  /** Asked when the export ends. */
  readonly end: () => Promise<RunEnd>;
}

/** Limit of metrics per batch. MLflow takes 1,000 things in a request. */
export const METRICS_MAX = 500;
const WAIT_MS = 500;

/** Returns the number of metrics exported. */
export async function exportMetrics(target: MetricTarget, options: ExportOptions): Promise<number> {
  const { log, clock, over, stop, end } = options;
  let cursor = await target.open(stop);
  let count = 0;
  const carry = async (until?: AbortSignal): Promise<void> => {
    const metrics = unread(log, topics.metrics, cursor, until);
    for await (const batch of gathered(metrics, { max: METRICS_MAX, waitMs: WAIT_MS }, clock)) {
      if (stop.aborted) return;
      const after = advanced(cursor, batch);
      await target.write(batch, after, stop);
      cursor = after;
      count += batch.length;
    }
  };
  if (over !== null) await carry(AbortSignal.any([over, stop]));
  // What arrived between the last look at the log and its end.
  if (!stop.aborted) await carry();
  if (!stop.aborted) await target.close(await end(), stop);
  return count;
}
