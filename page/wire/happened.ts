/** What happened in a run: where its curves change their level: `/r/RUN/happened`. */
import type { OfRun } from './common.ts';

export interface HappenedData extends OfRun {
  /** Those of learning with the largest changes, by step. */
  readonly events: readonly HappenedEvent[];
  /** Those of speed alone; they have no `changes`. */
  readonly speedEvents: readonly HappenedEvent[];
  /** Events of learning that were found; curves that were looked at. */
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
  /** Of what is learned (rewards, entropy, tools, lengths, …), the largest first. */
  readonly changes: readonly LevelChange[];
  /** Of how fast it goes. */
  readonly speed: readonly LevelChange[];
  /** Steps on either side with a rollout that each was trained on; null if it was trained on none. */
  readonly sides: readonly { readonly step: number; readonly rollout: string | null }[];
}

/** A curve that changes its level. */
export interface LevelChange {
  readonly name: string;
  readonly before: number;
  readonly after: number;
  /** In standard deviations of the noise. */
  readonly size: number;
}
