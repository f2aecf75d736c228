/** Settings of the fine-tuning, with what the quickstart takes as defaults. */
import { z } from 'zod';
import { count } from './policySettings.ts';

export const finetuneSettings = z.object({
  epochs: count.default(1).describe('how often each demonstration is trained on'),
  size: count.default(16).describe('most demonstrations an optimiser step'),
  perQuestionMax: count.default(1).describe('most demonstrations of a question'),
  lr: z.number().positive().default(1e-4).describe('the highest learning rate'),
  schedule: z.enum(['cosine', 'constant']).default('cosine'),
  warmupRatio: z
    .number()
    .min(0)
    .max(1)
    .default(0.1)
    .describe('share of the steps over which the rate rises'),
  results: z
    .enum(['masked', 'trained'])
    .default('masked')
    .describe('whether what tools wrote is learnt too (docs/losses.md)'),
});

export type FinetuneSettings = z.infer<typeof finetuneSettings>;
