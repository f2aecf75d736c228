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
  /** 1 = a token with A > 0 and a ratio above the range keeps the gradient of the bound; 0 = it gets none. */
  readonly keepClipped: Value;
  /** a in A * (1 + a * z), z = the token's standardised entropy. */
  readonly entropyWeight: Value;
}

/**
 * Clipped policy loss with dual clip (Schulman 2017; Ye 2020): with r = exp(logProb - old),
 * L = max(-A r, -A clamp(r, ratioMin, ratioMax)), and for A < 0 at most -A clipC; the loss is sum(weight * L).
 * `entropies` [M] bend the advantages when `entropyWeight` is not 0 (AEPO); no gradient goes through them.
 */
export function clippedPolicyLoss(logProbs: Value, entropies: Value, inputs: PolicyInputs): Value {
  const { graph, shape } = logProbs;
  const { weights, oldLogProbs, ratioMin, ratioMax, clipC, keepClipped } = inputs;
  const node = (op: string, ...operands: Value[]) => graph.node(op, operands, shape);
  const compare = (op: string, a: Value, b: Value) =>
    graph.node(op, [a, b], shape, { type: 'bool' });
  const choose = (condition: Value, yes: Value, no: Value) =>
    graph.node('Where', [condition, yes, no], shape, { type: graph.float });
  const advantages = node('Mul', inputs.advantages, entropyFactor(entropies, inputs.entropyWeight));
  const zero = graph.scalar(0);
  const down = node('Neg', advantages);
  const ratio = node('Exp', node('Sub', logProbs, oldLogProbs));
  const plain = node('Mul', down, ratio);
  const clipped = node('Mul', down, node('Min', node('Max', ratio, ratioMin), ratioMax));
  const worse = node('Max', plain, clipped);
  const cap = node('Mul', down, clipC);
  const negative = compare('Less', advantages, zero);
  const losses = choose(negative, node('Min', worse, cap), worse);
  const within = compare('GreaterOrEqual', plain, clipped);
  const capped = node('And', negative, compare('GreaterOrEqual', worse, cap));
  return sum(
    multiply(
      weights,
      graph.derive(losses, [logProbs], (g) => {
        const kept = choose(negative, zero, node('Mul', clipped, keepClipped));
        const slope = choose(capped, zero, choose(within, plain, kept));
        return [node('Mul', g, slope)];
      }),
    ),
  );
}

/**
 * 1 + weight * (H - mean) / deviation over the tokens of this run, with the unbiased deviation; z is 0 where all
 * entropies are equal or there is only one. As in the reference, the statistics are those of the micro-batch.
 */
function entropyFactor(entropies: Value, weight: Value): Value {
  const { graph, shape } = entropies;
  const number = (op: string, ...operands: Value[]) => graph.node(op, operands, []);
  const total = (value: Value) =>
    graph.node('ReduceSum', [value, graph.integers([0])], [], { attributes: { keepdims: 0 } });
  const ones = graph.node('Squeeze', [graph.size('M')], []);
  const to = graph.float === 'float32' ? 1 : 11;
  const count = graph.node('Cast', [ones], [], { type: graph.float, attributes: { to } });
  const centred = graph.node('Sub', [entropies, number('Div', total(entropies), count)], shape);
  const squares = total(graph.node('Mul', [centred, centred], shape));
  const others = number('Max', number('Sub', count, graph.scalar(1)), graph.scalar(1));
  const deviation = number('Sqrt', number('Div', squares, others));
  const flat = graph.node('Equal', [deviation, graph.scalar(0)], [], { type: 'bool' });
  const divisor = graph.node('Where', [flat, graph.scalar(1), deviation], [], {
    type: graph.float,
  });
  const bent = graph.node('Mul', [graph.node('Div', [centred, divisor], shape), weight], shape);
  return graph.node('Add', [bent, graph.scalar(1)], shape);
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
    keepClipped: scalar('keepClipped'),
    entropyWeight: scalar('entropyWeight'),
  };
}
