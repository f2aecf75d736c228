/** How tokens are drawn (`model/sampling.ts`), as settings. */
import { z } from 'zod';

/** To be spread into those of a job or of a role. */
export const samplingSettings = {
  temperature: z.number().nonnegative().default(1).describe('0 = greedy'),
  topP: z
    .number()
    .positive()
    .max(1)
    .default(1)
    .describe('draw from the smallest set of tokens with this total probability; 1 = all'),
  topK: z
    .number()
    .int()
    .nonnegative()
    .default(0)
    .describe('draw from this many of the most probable tokens; 0 = all'),
  minP: z
    .number()
    .min(0)
    .lt(1)
    .default(0)
    .describe('draw from tokens with at least this share of the highest probability; 0 = all'),
  repetitionPenalty: z
    .number()
    .positive()
    .default(1)
    .describe('makes tokens of the context less likely; 1 = off'),
};
