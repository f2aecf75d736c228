/**
 * `clipped`: the clipped policy gradient with dual clip (Schulman et al. 2017; Ye et al. 2020; ET-Agent
 * §8.8), and AEPO's entropy-balanced clipping and advantages (AEPO §2.3, §2.4). The default of all jobs.
 *
 *     r = exp(log π - log π_old)    M = max(-A·r, -A·clamp(r, 1 - clipLow, 1 + clipHigh))    L = A < 0 ? min(M, -A·clipC) : M
 *
 * summed over tokens with the weights of the aggregation.
 */
import { z } from 'zod';
import type { Graph, Value } from '../graph/graph.ts';
import type { Judged } from '../graph/layers.ts';
import { multiply, sum } from '../graph/ops.ts';
import { defineLoss } from './loss.ts';
import { scalar } from './parts/feeds.ts';
import {
  boundedOnService,
  boundsIn,
  clamped,
  isClipped,
  overRollouts,
  type RatioBounds,
  ratioBounds,
  ratioFeeds,
} from './parts/ratio.ts';
import { type RolloutInputs, rolloutInputs, rolloutTally } from './parts/rollouts.ts';
import { termSettings, withTerms } from './parts/terms.ts';
import { aggregation } from './parts/tokenWeights.ts';

export const clipped = defineLoss({
  settings: z.object({
    clipLow: z
      .number()
      .positive()
      .default(0.2)
      .describe('how far below 1 a ratio may be before it is clipped'),
    clipHigh: z
      .number()
      .positive()
      .default(0.2)
      .describe('how far above 1 a ratio may be before it is clipped'),
    clipC: z
      .number()
      .gt(1)
      .default(3)
      .describe('dual clip: maximum ratio for a negative advantage (c)'),
    aggregation: aggregation.default('token-mean').describe('how token losses are aggregated'),
    ...termSettings,
    aepo: z
      .object({
        clipping: z
          .boolean()
          .default(false)
          .describe('let tokens clipped from above keep the gradient of the bound'),
        advantageWeight: z
          .number()
          .nonnegative()
          .default(0)
          .describe('extra weight of uncertain tokens; the method uses 0.2'),
      })
      .prefault({}),
  }),
  ...overRollouts,
  graph: (judged, terms) => withTerms(clippedLoss(judged), judged, terms),
  feeds(sequences, settings) {
    const shared = ratioFeeds(sequences, settings, settings.aggregation);
    const own = {
      clipC: scalar(settings.clipC),
      keepClipped: scalar(settings.aepo.clipping ? 1 : 0),
      entropyWeight: scalar(settings.aepo.advantageWeight),
    };
    return (rows) => ({ ...shared(rows), ...own });
  },
  onService: (settings) =>
    settings.aepo.advantageWeight === 0
      ? boundedOnService('clipped', settings, {
          clip_dual: settings.clipC,
          keep_clipped: settings.aepo.clipping ? 1 : 0,
        })
      : null,
  /** A token counts as clipped when the clipped term is the larger one (verl's clip fraction). */
  tally: () =>
    rolloutTally((feeds) => {
      const bounds = boundsIn(feeds);
      return ({ drift, advantage }) => isClipped(advantage, Math.exp(-drift), bounds);
    }),
  trial: {
    aepo: { clipping: true, advantageWeight: 0.1 },
    kl: { kind: 'k3', coefficient: 0.1 },
    entropyCoefficient: 0.01,
  },
});

/** Scalars fed besides rollouts and bounds. */
interface ClippedInputs extends RolloutInputs, RatioBounds {
  /** The dual clip's c. */
  readonly clipC: Value;
  /** 1 = a token with A > 0 and a ratio above the range keeps the gradient of the bound; 0 = it gets none. */
  readonly keepClipped: Value;
  /** a in A * (1 + a * z), z = the token's standardised entropy. */
  readonly entropyWeight: Value;
}

/**
 * sum(weight * L) over the targets. `entropies` [M] bend the advantages when `entropyWeight` is not 0 (AEPO);
 * no gradient goes through them. The gradient that the clipping leaves is stated, so ties are decided as in
 * the references.
 */
export function clippedLoss({ logProbs, entropies }: Judged): Value {
  const { graph, shape } = logProbs;
  const inputs = inputsOf(graph);
  const { weights, oldLogProbs, clipC, keepClipped } = inputs;
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
  const clipped = node('Mul', down, clamped(ratio, inputs));
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
 * 1 + weight * (H - mean) / deviation over the tokens of this run, with the unbiased deviation; z is 0 where
 * all entropies are equal or there is only one. As in the reference, the statistics are those of the
 * micro-batch.
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

/** Adds the loss's inputs to the graph, under their own names. */
function inputsOf(graph: Graph): ClippedInputs {
  const scalarInput = (name: string) => graph.input(name, graph.float, []);
  return {
    ...rolloutInputs(graph),
    ...ratioBounds(graph),
    clipC: scalarInput('clipC'),
    keepClipped: scalarInput('keepClipped'),
    entropyWeight: scalarInput('entropyWeight'),
  };
}
