/**
 * The preference loss over pairs (DPO, Rafailov et al. 2023), as a graph over the token log-probs of a micro-batch.
 *
 * The chosen and the rejected sequence of a pair lie in one micro-batch. A pair's log-ratio is a row of a matrix
 * of +1 (chosen) and -1 (rejected) times the token differences, so the order of the sum is fixed.
 */
import type { Value } from '../graph/graph.ts';
import { matmul, multiply, reshape, subtract, sum } from '../graph/ops.ts';

/**
 * sum(w * softplus(-beta * m)) with m = pairs (logProbs - refLogProbs): with w = 1 / (number of pairs) the mean of
 * -log sigmoid(beta * m). Inputs: `pairs` [P, M], `refLogProbs` [M], `weights` [P], `beta` (scalar).
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
