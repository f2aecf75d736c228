/** Settings of the fine-tuning, with what the quickstart takes as defaults. */
import { z } from 'zod';
import { count } from './policySettings.ts';
import { rateSettings } from './rateSettings.ts';

export const finetuneSettings = z.object({
  epochs: count.default(1).describe('how often each demonstration is trained on'),
  size: count.default(16).describe('most demonstrations an optimiser step'),
  perQuestionMax: count.default(1).describe('most demonstrations of a question'),
  ...rateSettings,
  results: z
    .enum(['masked', 'trained'])
    .default('masked')
    .describe('whether what tools wrote is learnt too (docs/losses.md)'),
});

export type FinetuneSettings = z.infer<typeof finetuneSettings>;
