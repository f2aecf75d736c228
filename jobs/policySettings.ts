/** Settings of the loop that every training job turns in (`policyLoop`). */
import { z } from 'zod';

export const count = z.number().int().positive();

export const policySettings = z.object({
  temperature: z.number().nonnegative().default(1),
  responseMax: count.default(320).describe('most response tokens, tool results included'),
  callLimit: count.default(6).describe('most tool calls a rollout'),
  lagMax: z
    .number()
    .int()
    .nonnegative()
    .default(0)
    .describe('versions a rollout may be behind; 0 = on-policy'),
  keepVersions: z
    .number()
    .int()
    .nonnegative()
    .default(4)
    .describe(
      'newest versions kept with their optimiser state, beside the first and the ends of rounds; 0 = all',
    ),
  concurrency: count.default(24).describe('questions rolled out at once'),
});

export type PolicySettings = z.infer<typeof policySettings>;
