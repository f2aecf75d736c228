/**
 * `sft`: mean cross-entropy over the target tokens of the batch.
 *
 *     L = -(1 / number of targets) Σ log π
 */
import { z } from 'zod';
import type { Value } from '../graph/graph.ts';
import { multiply, subtract, sum } from '../graph/ops.ts';
import { defineLoss } from './loss.ts';
import { perTarget } from './parts/feeds.ts';

export const sft = defineLoss({
  settings: z.object({}),
  data: 'texts',
  variant: () => null,
  graph: ({ logProbs }) => crossEntropy(logProbs),
  feeds(sequences) {
    const total = sequences.reduce((count, { places }) => count + places.length, 0);
    return (rows) => ({ weights: perTarget(sequences, rows, () => 1 / total) });
  },
  metrics: {},
  trial: {},
});

/**
 * sum(-weight * logProb). With weight 1 / (number of targets) it is the mean cross-entropy. Input: `weights`
 * [M].
 */
export function crossEntropy(logProbs: Value): Value {
  const weights = logProbs.graph.input('weights', logProbs.graph.float, ['M']);
  return subtract(logProbs.graph.scalar(0), sum(multiply(weights, logProbs)));
}
