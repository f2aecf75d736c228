/** Settings of a learning rate that rises and falls over a round of steps. */
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
