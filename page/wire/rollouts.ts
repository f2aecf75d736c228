/** The newest rollouts as a table: `/r/RUN/rollouts`. */
import type { OfRun } from './common.ts';
import type { RolloutRow } from './question.ts';

export interface RolloutsData extends OfRun {
  /** Newest first. */
  readonly rows: readonly ListedRollout[];
  /** In the topic. */
  readonly total: number;
}

export interface ListedRollout extends RolloutRow {
  /** The beginnings of the question and of the final answer. */
  readonly text: string;
  readonly answer: string;
  /** `practice, round 2`, `measured before training`. */
  readonly phase: string;
}
