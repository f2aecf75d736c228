/** Settings of the flywheel, with what the quickstart takes as defaults. */
import { z } from 'zod';
import { count } from './policySettings.ts';

const orNone = z.number().int().nonnegative();

export const flywheelSettings = z.object({
  questions: orNone.default(256).describe('questions that the flywheel evolves; 0 = no flywheel'),
  rounds: orNone.default(3).describe('rounds of evolution (R); 0 = the first trajectories alone'),
  initial: count.default(1).describe('first trajectories a question'),
  parents: count.default(1).describe('most trajectories evolved a round, best first'),
  callLimit: count.default(6).describe('most calls of each tool in a fresh trajectory'),
  extraCalls: orNone.default(4).describe('more of each when a trajectory is continued'),
  perQuestion: count.default(1).describe('most demonstrations kept of a question'),
  prefer: z
    .enum(['fewestCalls', 'latestRound', 'earliestRound', 'shortest'])
    .default('fewestCalls')
    .describe('which demonstrations are kept, where there are more'),
  callsMax: orNone.default(8).describe('most tool calls of a demonstration'),
  promptsFolder: z
    .string()
    .default('')
    .describe('folder of prompts to use instead of the package’s; empty = those'),
  mode: z
    .enum(['clean', 'reference'])
    .default('clean')
    .describe('reference keeps the defects of the published flywheel'),
  concurrency: count.default(24).describe('questions evolved at once'),
});

export type FlywheelSettings = z.infer<typeof flywheelSettings>;
