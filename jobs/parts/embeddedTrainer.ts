/** `trainer.kind=embedded`: ONNX Runtime in a worker thread of this process. */
import { z } from 'zod';
import { EmbeddedTrainer, trainerDefaults } from '../../model/train/index.ts';
import type { TrainerKind } from './places.ts';

const settings = {
  adapterRank: z
    .number()
    .int()
    .nonnegative()
    .default(0)
    .describe('embedded: rank of the low-rank adapter to train; 0 = train all weights'),
  adapterAlpha: z
    .number()
    .nonnegative()
    .default(0)
    .describe('embedded: alpha of the adapter (its scale times its rank); 0 = twice the rank'),
  adapterAs: z
    .enum(['merged', 'adapter'])
    .default('merged')
    .describe(
      'embedded: write each version as a whole policy, or as the adapter only, a small file that engine.publish=adapter needs',
    ),
  weightDecay: z
    .number()
    .nonnegative()
    .default(trainerDefaults.weightDecay)
    .describe('AdamW’s decoupled weight decay'),
  gradNormMax: z
    .number()
    .positive()
    .default(trainerDefaults.gradNormMax)
    .describe('maximum global norm of the gradients; larger ones are scaled down'),
  packing: z
    .enum(['length', 'packed', 'karmarkar-karp'])
    .default('length')
    .describe(
      'embedded: how sequences form rows: side by side with others of similar length, or packed, several short ones per row (docs/data.md)',
    ),
  recompute: z
    .boolean()
    .default(trainerDefaults.recompute)
    .describe('embedded: recompute activations instead of keeping them: less memory, more time'),
};

/** The embedded trainer: all weights, or an adapter. */
export const embeddedTrainer: TrainerKind<typeof settings> = {
  settings,
  open(chosen, { policy, threads, provider, seed }) {
    const { adapterRank: rank, adapterAlpha, adapterAs: publish, ...learning } = chosen;
    const alpha = adapterAlpha || 2 * rank;
    const made = { rank, alpha, seed, base: policy };
    const adapter = rank === 0 ? {} : { adapter: { adapter: made, publish } };
    return EmbeddedTrainer.create({ policy, provider, threads, settings: learning, ...adapter });
  },
};
