/** Settings of a fine-tuning: a learning rate that rises and falls over a round of steps, and when it ends. */
import { z } from 'zod';

export const rateSettings = {
  lr: z.number().positive().default(1e-4).describe('peak learning rate'),
  schedule: z.enum(['cosine', 'constant']).default('cosine'),
  warmupRatio: z
    .number()
    .min(0)
    .max(1)
    .default(0.1)
    .describe('fraction of the steps over which the rate warms up'),
};

/** When a fine-tuning ends before its last step. */
export const entropySetting = z
  .number()
  .nonnegative()
  .default(0)
  .describe(
    'end fine-tuning once the entropy on held-out demonstrations (one in eight, at most 8) is below this many nats per token, so that RL has something to learn from; 0 = never',
  );
