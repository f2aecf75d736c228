/** What a summary needs of `run.json`. */

export const runStatuses = ['running', 'done', 'stopped', 'failed'] as const;
export type RunStatus = (typeof runStatuses)[number];

export interface RunFacts {
  /** Version of millrace that started it. */
  readonly millrace: string;
  readonly job: { readonly name: string };
  readonly seed: number;
  readonly settings: Readonly<Record<string, unknown>>;
  /** Those that differ from the job's defaults, by dotted key; left out if unknown. */
  readonly changed?: Readonly<Record<string, ChangedSetting>> | undefined;
  readonly status: RunStatus;
  /** Every start and resumption, in order; `endedMs` is null while it runs, and forever after a kill. */
  readonly starts: readonly Start[];
  /** Why it failed; empty otherwise. */
  readonly reason: string;
}

export interface ChangedSetting {
  /** Where its value was given: `--set`, `preset et-agent-7b`, `my.yaml:3`. */
  readonly from: string;
  /** Left out if there is none. */
  readonly default?: unknown;
}

export interface Start {
  readonly startedMs: number;
  readonly endedMs: number | null;
}

/**
 * How long a run was running, over all starts, in seconds. A start that was killed lasted until the last
 * known record before the next start: call `seen` with the time of each record.
 */
export class RunningTime {
  readonly #starts: readonly Start[];
  readonly #lastMs: number[];

  constructor({ starts }: Pick<RunFacts, 'starts'>) {
    this.#starts = starts;
    this.#lastMs = starts.map(({ startedMs }) => startedMs);
  }

  seen(atMs: number): void {
    const start = this.#starts.findLastIndex(({ startedMs }) => startedMs < atMs);
    if (start >= 0) this.#lastMs[start] = Math.max(this.#lastMs[start]!, atMs);
  }

  get seconds(): number {
    const ms = this.#starts.reduce(
      (sum, { startedMs, endedMs }, i) => sum + (endedMs ?? this.#lastMs[i]!) - startedMs,
      0,
    );
    return ms / 1000;
  }
}
