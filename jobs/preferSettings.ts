/** Settings of a stage of preferences. */
import { z } from 'zod';
import { count } from './policySettings.ts';

export const preferSettings = z.object({
  samples: count.default(10).describe('responses a question'),
  pairsMax: count.default(1).describe('most pairs a question'),
  beta: z.number().positive().default(0.1).describe('how dear it is to leave the reference policy'),
  epochs: count.default(1).describe('how often each pair is trained on'),
  size: count.default(16).describe('most pairs an optimiser step'),
  lr: z.number().positive().default(1e-4).describe('the highest learning rate'),
  schedule: z.enum(['cosine', 'constant']).default('cosine'),
  warmupRatio: z
    .number()
    .min(0)
    .max(1)
    .default(0.1)
    .describe('share of the steps over which the rate rises'),
});

export type PreferSettings = z.infer<typeof preferSettings>;
