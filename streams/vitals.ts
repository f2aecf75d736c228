/**
 * What a process of a run says about itself while it works: the statistics of its stages and sources, and its memory.
 *
 * It goes to the log's board, about once a second: no record, so a replay does not see it, and nothing waits for it.
 * A post that is under way is not overtaken: while a broker is gone, at most one waits.
 */
import type { Log } from './log.ts';
import type { FlowStats } from './runFlow.ts';

/** Which process speaks. */
export interface Speaker {
  /** Its name among those that share the run. */
  readonly worker: string;
  readonly host: string;
  readonly pid: number;
}

export interface Vitals extends Speaker, FlowStats {
  readonly startedMs: number;
  /** Resident memory. */
  readonly memoryBytes: number;
  /** This was its last word. */
  readonly ended: boolean;
}

export interface VitalsOptions extends Speaker {
  readonly startedMs: number;
  readonly memoryBytes: () => number;
}

export interface Speaking {
  /** For `runFlow`, with `VITALS_MS`. */
  onStats(stats: FlowStats): void;
  /** Says what was said last once more, as the last word. Waits a moment for it, no longer. */
  end(): Promise<void>;
}

/** How often a process speaks. */
export const VITALS_MS = 1_000;
const LAST_WORD_MS = 2_000;

export function speak(log: Log, { memoryBytes, ...speaker }: VitalsOptions): Speaking {
  let posting: Promise<void> | null = null;
  let last: FlowStats | null = null;
  const post = async (stats: FlowStats, ended: boolean): Promise<void> => {
    const said: Vitals = { ...speaker, ...stats, memoryBytes: memoryBytes(), ended };
    // Nobody is told of a post that failed: what matters fails louder.
    await log.post?.(said).catch(() => undefined);
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
        timer = setTimeout(resolve, LAST_WORD_MS);
      });
      await Promise.race([Promise.resolve(posting).then(() => post(stats, true)), late]);
      clearTimeout(timer);
    },
  };
}
