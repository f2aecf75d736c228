/**
 * The losses as graphs over token log-probs [M]. What differs between algorithms is fed as data: per-token weights
 * carry the aggregation, so micro-batches add up to the loss of the whole batch.
 */
import type { Value } from '../graph/graph.ts';
import { multiply, subtract, sum } from '../graph/ops.ts';

/** sum(-weight * logProb). With weight 1 / (number of targets) it is the mean cross-entropy. Input: `weights` [M]. */
export function crossEntropy(logProbs: Value): Value {
  const weights = logProbs.graph.input('weights', logProbs.graph.float, ['M']);
  return subtract(logProbs.graph.scalar(0), sum(multiply(weights, logProbs)));
}

/** What is fed for `clippedPolicyLoss` besides the log-probs: vectors [M] and scalars. */
export interface PolicyInputs {
  readonly weights: Value;
  readonly advantages: Value;
  readonly oldLogProbs: Value;
  /** Bounds of the ratio: 1 - clipLow, 1 + clipHigh; and the dual clip's c. */
  readonly ratioMin: Value;
  readonly ratioMax: Value;
  readonly clipC: Value;
}

/**
 * Clipped policy loss with dual clip (Schulman 2017; Ye 2020): with r = exp(logProb - old),
 * L = max(-A r, -A clamp(r, ratioMin, ratioMax)), and for A < 0 at most -A clipC; the loss is sum(weight * L).
 */
export function clippedPolicyLoss(logProbs: Value, inputs: PolicyInputs): Value {
  const { graph, shape } = logProbs;
  const { weights, advantages, oldLogProbs, ratioMin, ratioMax, clipC } = inputs;
  const node = (op: string, ...operands: Value[]) => graph.node(op, operands, shape);
  const compare = (op: string, a: Value, b: Value) =>
    graph.node(op, [a, b], shape, { type: 'bool' });
  const zero = graph.scalar(0);
  const down = node('Neg', advantages);
  const ratio = node('Exp', node('Sub', logProbs, oldLogProbs));
  const plain = node('Mul', down, ratio);
  const clipped = node('Mul', down, node('Min', node('Max', ratio, ratioMin), ratioMax));
  const worse = node('Max', plain, clipped);
  const cap = node('Mul', down, clipC);
  const negative = compare('Less', advantages, zero);
  const losses = graph.node('Where', [negative, node('Min', worse, cap), worse], shape, {
    type: graph.float,
  });
  const passes = graph.node(
    'And',
    [
      compare('GreaterOrEqual', plain, clipped),
      graph.node('Or', [graph.node('Not', [negative], shape), compare('Less', worse, cap)], shape),
    ],
    shape,
  );
  graph.derive(losses, [logProbs], (g) => [
    graph.node('Where', [passes, multiply(g, plain), zero], shape, { type: graph.float }),
  ]);
  return sum(multiply(weights, losses));
}

/** Adds the inputs of `clippedPolicyLoss` to the graph, under their own names. */
export function policyInputs({ graph }: Value): PolicyInputs {
  const vector = (name: string) => graph.input(name, graph.float, ['M']);
  const scalar = (name: string) => graph.input(name, graph.float, []);
  return {
    weights: vector('weights'),
    advantages: vector('advantages'),
    oldLogProbs: vector('oldLogProbs'),
    ratioMin: scalar('ratioMin'),
    ratioMax: scalar('ratioMax'),
    clipC: scalar('clipC'),
  };
}
