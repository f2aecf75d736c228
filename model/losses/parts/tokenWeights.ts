/**
 * How token losses add up to one number, as a weight for every target token of a batch.
 *
 * The loss of a batch is sum(weight * token loss) over its target tokens, so it may be computed in
 * micro-batches. Formulas as in verl's `agg_loss`; a sequence without targets counts as a sequence and adds
 * nothing. Rounds of one folded rollout are sequences of their own and count as one.
 */
import { z } from 'zod';

/**
 * The setting: a mean over all tokens, or a mean over sequences of their tokens' mean, sum, or sum over the
 * longest response.
 */
export const aggregation = z.enum([
  'token-mean',
  'seq-mean-token-mean',
  'seq-mean-token-sum',
  'seq-mean-token-sum-norm',
]);

/** How token losses become one number (verl's `loss_agg_mode`). */
export type Aggregation = z.infer<typeof aggregation>;

/** verl's guard against an empty mask; kept so that losses agree to the last digits. */
const EPSILON = 1e-8;

/** What of a sequence its weight depends on. */
export interface WeighedSequence {
  /** Number of its target tokens. */
  readonly targets: number;
  /** Sequences with the same number count as one, their tokens together; left out = it counts by itself. */
  readonly rollout?: number | undefined;
}

/**
 * The weight of a target token, per sequence. `width` = tokens in the longest response of the batch (read by
 * `seq-mean-token-sum-norm` only).
 */
export function tokenWeights(
  sequences: readonly WeighedSequence[],
  how: Aggregation,
  width: number,
): readonly number[] {
  const total = sequences.reduce((sum, { targets }) => sum + targets, 0);
  const own = targetsByRollout(sequences);
  const rollouts = new Set(own).size;
  return own.map(({ targets }) => {
    switch (how) {
      case 'token-mean':
        return 1 / (total + EPSILON);
      case 'seq-mean-token-sum':
        return 1 / rollouts;
      case 'seq-mean-token-mean':
        return targets === 0 ? 0 : 1 / (rollouts * targets);
      case 'seq-mean-token-sum-norm':
        return 1 / width;
      default:
        throw new Error(`unknown aggregation '${how satisfies never}'`);
    }
  });
}

/** For each sequence the count of the rollout that it is of: one object a rollout. */
function targetsByRollout(sequences: readonly WeighedSequence[]): { targets: number }[] {
  const shared = new Map<number, { targets: number }>();
  return sequences.map(({ targets, rollout }) => {
    const found = rollout === undefined ? undefined : shared.get(rollout);
    const count = found ?? { targets: 0 };
    if (rollout !== undefined) shared.set(rollout, count);
    count.targets += targets;
    return count;
  });
}
