/** What happened in a run: where its curves change their level: `/r/RUN/happened`. */
import type { OfRun } from './common.ts';

export interface HappenedData extends OfRun {
  /** The largest changes of all, by step. */
  readonly events: readonly HappenedEvent[];
  /** Events that were found; curves that were looked at. */
  readonly total: number;
  readonly curves: number;
}

/** Curves that change at the same step or the next. */
export interface HappenedEvent {
  /** The first with the new level. */
  readonly step: number;
  /** Of the round that begins there, or of that it is in; empty if it is not known. */
  readonly round: string;
  readonly begins: boolean;
  /** The largest first. */
  readonly changes: readonly {
    readonly name: string;
    readonly before: number;
    readonly after: number;
    /** In standard deviations of the noise. */
    readonly size: number;
  }[];
  /** Steps on either side with a rollout that each was trained on; null if it was trained on none. */
  readonly sides: readonly { readonly step: number; readonly rollout: string | null }[];
}
