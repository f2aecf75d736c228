/**
 * `cispo`: clipped importance-sampling weights (MiniMax-M1, Chen et al. 2025, equations 4 and 5).
 *
 *     r = exp(log π - log π_old)    L = -sg[clamp(r, 1 - clipLow, 1 + clipHigh)] · A · log π
 *
 * summed over tokens with the weights of the aggregation; sg = stop-gradient. Not the update of a token is
 * clipped, only the weight that it has: every token keeps a gradient, rare ones too, on which reasoning
 * turns. The paper sets no lower bound (clipLow 1) and does not print its upper one; 1 + clipHigh = 5 is
 * ScaleRL's (Khatri et al. 2025, ε_max as TRL's documentation gives it; docs/losses.md compares others).
 */
import { z } from 'zod';
import type { Value } from '../graph/graph.ts';
import { multiply, subtract, sum } from '../graph/ops.ts';
import { defineLoss } from './loss.ts';
import {
  boundedOnService,
  boundsIn,
  clamped,
  overRollouts,
  ratioBounds,
  ratioFeeds,
} from './parts/ratio.ts';
import { rolloutInputs, rolloutTally } from './parts/rollouts.ts';
import { termSettings, withTerms } from './parts/terms.ts';
import { aggregation } from './parts/tokenWeights.ts';

export const cispo = defineLoss({
  settings: z.object({
    clipLow: z
      .number()
      .positive()
      .default(1)
      .describe('how far below 1 a weight may be before it is clipped'),
    clipHigh: z
      .number()
      .positive()
      .default(4)
      .describe('how far above 1 a weight may be before it is clipped'),
    aggregation: aggregation.default('token-mean').describe('how token losses are aggregated'),
    ...termSettings,
  }),
  ...overRollouts,
  graph: (judged, terms) => withTerms(weightedLogProbs(judged.logProbs), judged, terms),
  feeds: (sequences, settings) => ratioFeeds(sequences, settings, settings.aggregation),
  onService: (settings) => boundedOnService('cispo', settings),
  /** A token counts as clipped when its weight is outside the bounds. */
  tally: () =>
    rolloutTally((feeds) => {
      const [low, high] = boundsIn(feeds);
      return ({ drift }) => {
        const ratio = Math.exp(-drift);
        return ratio < low || ratio > high;
      };
    }),
  trial: { kl: { kind: 'k2', coefficient: 0.1 }, entropyCoefficient: 0.01 },
});

/** sum(-weight * sg[clamped ratio] * A * logProb). What `node` makes is a constant to differentiation. */
function weightedLogProbs(logProbs: Value): Value {
  const { graph, shape } = logProbs;
  const { weights, advantages, oldLogProbs } = rolloutInputs(graph);
  const bounds = ratioBounds(graph);
  const node = (op: string, ...operands: Value[]) => graph.node(op, operands, shape);
  const ratio = node('Exp', node('Sub', logProbs, oldLogProbs));
  const factor = node('Mul', node('Mul', clamped(ratio, bounds), advantages), weights);
  return subtract(graph.scalar(0), sum(multiply(factor, logProbs)));
}
