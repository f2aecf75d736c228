/**
 * `cispo`: clipped importance-sampling weights (MiniMax-M1, Chen et al. 2025, equations 4 and 5).
 *
 *     r = exp(log π - log π_old)    L = -sg[clamp(r, 1 - clipLow, 1 + clipHigh)] · A · log π
 *
 * summed over tokens with the weights of the aggregation; sg = stop-gradient. Not the update of a token is clipped, only
 * the weight that it has: every token keeps a gradient, rare ones too, on which reasoning turns. The paper sets no lower
 * bound (clipLow 1) and does not print its upper one; 1 + clipHigh = 5 is what ScaleRL (Khatri et al. 2025) trains with.
 */
import { z } from 'zod';
import type { Value } from '../graph/graph.ts';
import { multiply, subtract, sum } from '../graph/ops.ts';
import { defineLoss } from './loss.ts';
import { scalar } from './parts/feeds.ts';
import {
  rolloutFeeds,
  rolloutInputs,
  rolloutMetrics,
  rolloutTally,
  rowWeights,
  vectorOf,
} from './parts/rollouts.ts';
import { termFeeds, termSettings, termsOf, withTerms } from './parts/terms.ts';
import { aggregation } from './parts/tokenWeights.ts';

export const cispo = defineLoss({
  settings: z.object({
    clipLow: z.number().positive().default(1).describe('how far below 1 a weight may be'),
    clipHigh: z.number().positive().default(4).describe('how far above 1 a weight may be'),
    aggregation: aggregation.default('token-mean').describe('how token losses become one'),
    ...termSettings,
  }),
  data: 'rollouts',
  reference: (settings) => termsOf(settings).kl !== null,
  variant: termsOf,
  graph: (judged, terms) => withTerms(weightedLogProbs(judged.logProbs), judged, terms),
  feeds(sequences, settings) {
    const weight = rowWeights(sequences, settings.aggregation);
    const terms = termFeeds(sequences, settings, weight);
    const bounds = {
      ratioMin: scalar(1 - settings.clipLow),
      ratioMax: scalar(1 + settings.clipHigh),
    };
    return (rows) => ({ ...rolloutFeeds(sequences, rows, weight), ...terms(rows), ...bounds });
  },
  metrics: rolloutMetrics,
  /** A token counts as clipped when its weight lies outside the bounds. */
  tally: () =>
    rolloutTally((feeds) => {
      const low = vectorOf(feeds, 'ratioMin')[0] as number;
      const high = vectorOf(feeds, 'ratioMax')[0] as number;
      return ({ drift }) => {
        const ratio = Math.exp(-drift);
        return ratio < low || ratio > high;
      };
    }),
  trial: { kl: { kind: 'k2', coefficient: 0.1 }, entropyCoefficient: 0.01 },
});

/** sum(-weight * sg[held ratio] * A * logProb). What `node` makes is a constant to differentiation. */
function weightedLogProbs(logProbs: Value): Value {
  const { graph, shape } = logProbs;
  const { weights, advantages, oldLogProbs } = rolloutInputs(graph);
  const bound = (name: string) => graph.input(name, graph.float, []);
  const node = (op: string, ...operands: Value[]) => graph.node(op, operands, shape);
  const ratio = node('Exp', node('Sub', logProbs, oldLogProbs));
  const held = node('Min', node('Max', ratio, bound('ratioMin')), bound('ratioMax'));
  const factor = node('Mul', node('Mul', held, advantages), weights);
  return subtract(graph.scalar(0), sum(multiply(factor, logProbs)));
}
