/**
 * How token losses add up to one number, as a weight for every target token of a batch.
 *
 * The loss of a batch is sum(weight * token loss) over its target tokens, so it may be computed in micro-batches.
 * Formulas as in verl's `agg_loss`; a sequence without targets counts as a sequence and adds nothing.
 */
import { z } from 'zod';

/**
 * The setting: a mean over all tokens, or a mean over sequences of their tokens' mean, sum, or sum over the longest
 * response.
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

/**
 * The weight of a target token, per sequence. `targets[s]` = number of target tokens of sequence s; `width` = tokens
 * in the longest response of the batch (read by `seq-mean-token-sum-norm` only).
 */
export function tokenWeights(
  targets: readonly number[],
  how: Aggregation,
  width: number,
): readonly number[] {
  const total = targets.reduce((sum, count) => sum + count, 0);
  const sequences = targets.length;
  return targets.map((count) => {
    switch (how) {
      case 'token-mean':
        return 1 / (total + EPSILON);
      case 'seq-mean-token-sum':
        return 1 / sequences;
      case 'seq-mean-token-mean':
        return count === 0 ? 0 : 1 / (sequences * count);
      case 'seq-mean-token-sum-norm':
        return 1 / width;
      default:
        throw new Error(`unknown aggregation '${how satisfies never}'`);
    }
  });
}
