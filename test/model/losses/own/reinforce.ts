/**
 * A loss as a user writes it, in a file of its own: REINFORCE without a ratio, -strength · A · log π, a mean
 * over tokens.
 */
import { z } from 'zod';
import { multiply, subtract, sum } from '../../../../model/graph/ops.ts';
import { defineLoss } from '../../../../model/losses/loss.ts';
import { at, perTarget, scalar } from '../../../../model/losses/parts/feeds.ts';

export default defineLoss({
  settings: z.object({ strength: z.number().positive().default(1) }),
  data: 'rollouts',
  variant: () => null,
  graph({ logProbs }) {
    const { graph } = logProbs;
    const advantages = graph.input('advantages', graph.float, ['M']);
    const strength = graph.input('strength', graph.float, []);
    return subtract(graph.scalar(0), multiply(sum(multiply(advantages, logProbs)), strength));
  },
  feeds: (sequences, { strength }) => {
    const count = sequences.reduce((total, { places }) => total + places.length, 0);
    return (rows) => ({
      advantages: perTarget(sequences, rows, (row, place) => {
        return at(sequences[row]?.advantages, place) / count;
      }),
      strength: scalar(strength),
    });
  },
  metrics: { 'own/targets': 'mean' },
  tally: () => ({ add: () => undefined, numbers: (targets) => ({ 'own/targets': targets }) }),
  trial: {},
});
