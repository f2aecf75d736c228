/**
 * `dpo`: direct preference optimisation over pairs (Rafailov et al. 2023, equation 7).
 *
 *     L = -log σ(β · [(log π(w) - log π_ref(w)) - (log π(l) - log π_ref(l))]),   mean over the pairs
 *
 * w is the chosen and l the rejected response of a pair; their log-probs are sums over target tokens. A
 * pair's log-ratio is a row of a matrix of +1 (chosen) and -1 (rejected) times the token differences, so the
 * order of the sum is fixed.
 */

import { z } from 'zod';
import { counted } from '../../base/text/index.ts';
import type { Value } from '../graph/graph.ts';
import { matmul, multiply, reshape, subtract, sum } from '../graph/ops.ts';
import type { Feeds } from '../runtime/session.ts';
import { defineLoss, type TargetSequence } from './loss.ts';
import { checkReferences, references, scalar } from './parts/feeds.ts';

export const dpo = defineLoss({
  settings: z.object({
    beta: z
      .number()
      .positive()
      .default(0.1)
      .describe('strength of the penalty for leaving the reference policy'),
  }),
  data: 'pairs',
  reference: () => true,
  variant: () => null,
  graph: ({ logProbs }) => preferenceLoss(logProbs),
  feeds(sequences, { beta }) {
    checkPairs(sequences);
    checkReferences(sequences);
    return (rows) => ({
      refLogProbs: references(sequences, rows),
      beta: scalar(beta),
      ...pairFeeds(sequences, rows),
    });
  },
  metrics: {},
  trial: {},
});

/**
 * sum(w * softplus(-beta * m)) with m = pairs (logProbs - refLogProbs): with w = 1 / (number of pairs) the
 * mean of -log sigmoid(beta * m). Inputs: `pairs` [P, M], `refLogProbs` [M], `weights` [P], `beta` (scalar).
 */
export function preferenceLoss(logProbs: Value): Value {
  const { graph } = logProbs;
  const { float } = graph;
  const pairs = graph.input('pairs', float, ['P', 'M']);
  const refLogProbs = graph.input('refLogProbs', float, ['M']);
  const weights = graph.input('weights', float, ['P']);
  const beta = graph.input('beta', float, []);
  const column = reshape(subtract(logProbs, refLogProbs), ['M', 1]);
  const margins = multiply(reshape(matmul(pairs, column), ['P']), beta);
  return sum(multiply(weights, surprise(margins)));
}

/** -log sigmoid(x) = max(-x, 0) + log(1 + e^-|x|), which overflows nowhere. */
function surprise(x: Value): Value {
  const { graph, shape } = x;
  const node = (op: string, ...operands: Value[]) => graph.node(op, operands, shape);
  const down = node('Neg', x);
  const small = node('Exp', node('Neg', node('Abs', x)));
  const rest = node('Log', node('Add', small, graph.scalar(1)));
  const value = node('Add', node('Max', down, graph.scalar(0)), rest);
  return graph.derive(value, [x], (g) => [node('Neg', node('Mul', g, node('Sigmoid', down)))]);
}

function checkPairs(sequences: readonly TargetSequence[]): void {
  if (sequences.length % 2 === 1)
    throw new Error(
      `${counted(sequences.length, 'sequence')} cannot be paired: give each chosen one a rejected one`,
    );
  const row = sequences.findIndex(({ places }) => places.length === 0);
  if (row >= 0) throw new Error(`sequence ${row} has no target tokens: leave its pair out`);
}

/** `pairs` [P, M] and `weights` [P] of a micro-batch whose rows come pair by pair. */
function pairFeeds(sequences: readonly TargetSequence[], rows: readonly number[]): Feeds {
  const counts = rows.map((row) => (sequences[row] as TargetSequence).places.length);
  const tokens = counts.reduce((sum, count) => sum + count, 0);
  const count = rows.length / 2;
  const signs = new Float64Array(count * tokens);
  let at = 0;
  for (const [index, length] of counts.entries()) {
    const start = Math.floor(index / 2) * tokens + at;
    signs.fill(index % 2 === 0 ? 1 : -1, start, start + length);
    at += length;
  }
  const weights = new Float64Array(count).fill(2 / sequences.length);
  return {
    pairs: { shape: [count, tokens], data: signs },
    weights: { shape: [count], data: weights },
  };
}
