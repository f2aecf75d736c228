/** `trainer.kind=embedded`: ONNX Runtime in a worker thread of this process. */
import { z } from 'zod';
import { EmbeddedTrainer, trainerDefaults } from '../../model/train/trainer.ts';
import type { TrainerKind } from './places.ts';

const settings = {
  adapterRank: z
    .number()
    .int()
    .nonnegative()
    .default(0)
    .describe('embedded: rank of a low-rank adapter that is trained alone; 0 = all weights'),
  adapterAlpha: z
    .number()
    .nonnegative()
    .default(0)
    .describe('embedded: its scale times its rank; 0 = twice the rank'),
  adapterAs: z
    .enum(['merged', 'adapter'])
    .default('merged')
    .describe(
      'embedded: a version of it is written as a whole policy, or as the adapter alone: a small file, which engine.publish=adapter needs',
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
    .describe('joint norm above which gradients are scaled down'),
  packing: z
    .enum(['length', 'packed', 'karmarkar-karp'])
    .default('length')
    .describe(
      'embedded: sequences of like length side by side; packed = short ones share a row (docs/data.md)',
    ),
  recompute: z
    .boolean()
    .default(trainerDefaults.recompute)
    .describe(
      'embedded: compute the inside of a layer twice instead of keeping it: less memory, more time',
    ),
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
