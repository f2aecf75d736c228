/** The steps of a run, each of which can be looked at again: `/r/RUN/replay`. */
import type { OfRun } from './common.ts';

export interface ReplayData extends OfRun {
  /** Every step, oldest first; at most 4,096, then every 2nd, 4th, … (the last always). */
  readonly steps: readonly ReplayStep[];
  readonly total: number;
  /** What `replay --verify` found last; null if it never ran. */
  readonly verified: {
    readonly atMs: number;
    readonly ok: boolean;
    readonly records: number;
    readonly text: string;
  } | null;
  readonly commands: readonly { readonly about: string; readonly command: string }[];
}

export interface ReplayStep {
  readonly step: number;
  readonly version: number;
  readonly atMs: number;
  readonly ref: string;
  readonly digest: string | null;
  readonly reward: number | null;
}
