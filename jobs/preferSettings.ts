/** Settings of a stage of preferences. */
import { z } from 'zod';
import { count } from './policySettings.ts';
import { rateSettings } from './rateSettings.ts';

export const preferSettings = z.object({
  samples: count.default(10).describe('responses a question'),
  pairsMax: count.default(1).describe('most pairs a question'),
  beta: z.number().positive().default(0.1).describe('strength of the tie to the reference policy'),
  epochs: count.default(1).describe('how often each pair is trained on'),
  size: count.default(16).describe('most pairs an optimiser step'),
  ...rateSettings,
});

export type PreferSettings = z.infer<typeof preferSettings>;
