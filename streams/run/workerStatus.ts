/**
 * The status of a process of a run while it works: the statistics of its stages and sources, and its memory.
 *
 * It is posted to the log about once a second. It is not a record, so a replay does not see it, and nothing
 * waits for it. Posts do not overtake each other: while a broker is gone, at most one waits.
 */
import type { Log } from '../log.ts';
import type { FlowStats } from './runFlow.ts';

/** The process that reports. */
export interface WorkerId {
  /** Its name among those that share the run. */
  readonly worker: string;
  readonly host: string;
  readonly pid: number;
}

/** One report of a process: what `millrace top` reads. Bytes, and milliseconds since 1970. */
export interface WorkerStatus extends WorkerId, FlowStats {
  readonly startedMs: number;
  /** Resident memory. */
  readonly memoryBytes: number;
  /** The last report of this process. */
  readonly ended: boolean;
}

/** The process that reports, since when it has been running, and how to measure its memory (bytes). */
export interface StatusOptions extends WorkerId {
  readonly startedMs: number;
  readonly memoryBytes: () => number;
}

/** Posts reports while a flow runs, and the last one at its end. */
export interface StatusReporter {
  /** For `runFlow`, with `STATUS_MS`. */
  onStats(stats: FlowStats): void;
  /** Posts the latest status again, marked as the last. Waits at most two seconds. */
  end(): Promise<void>;
}

/** How often a process reports. */
export const STATUS_MS = 1_000;
const LAST_POST_MS = 2_000;

/** A reporter for one process. A report that cannot be posted is skipped; nothing here ever rejects. */
export function reportStatus(log: Log, { memoryBytes, ...worker }: StatusOptions): StatusReporter {
  let posting: Promise<void> | null = null;
  let last: FlowStats | null = null;
  const post = async (stats: FlowStats, ended: boolean): Promise<void> => {
    const status: WorkerStatus = { ...worker, ...stats, memoryBytes: memoryBytes(), ended };
    // A failed post is skipped: whatever matters fails on its own.
    await log.post?.(status).catch(() => undefined);
  };
  return {
    onStats(stats) {
      last = stats;
      posting ??= post(stats, false).finally(() => {
        posting = null;
      });
    },
    async end() {
      const stats = last;
      if (stats === null) return;
      let timer: NodeJS.Timeout | undefined;
      const late = new Promise<void>((resolve) => {
        timer = setTimeout(resolve, LAST_POST_MS);
      });
      await Promise.race([Promise.resolve(posting).then(() => post(stats, true)), late]);
      clearTimeout(timer);
    },
  };
}
