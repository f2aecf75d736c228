/** Settings of the toolStar job: the numbers of the method, sizes for a small world. */
import { z } from 'zod';
import { finetuneSettings } from './finetuneSettings.ts';
import { lossSettings } from './lossSettings.ts';
import { count, policySettings } from './policySettings.ts';
import { preferSettings } from './preferSettings.ts';

const orNone = z.number().int().nonnegative();

export const coldStartSettings = z.object({
  questions: count.default(256).describe('questions of the cold start'),
  direct: count.default(1).describe('answers without tools of each'),
  tools: count.default(3).describe('tool-integrated answers of each'),
  hints: z.boolean().default(true).describe('continue direct answers with tools behind a hint'),
  callLimit: count.default(4).describe('most calls of each tool in a trajectory'),
  extraCalls: orNone.default(2).describe('more of each behind a hint'),
  callsMax: count.default(5).describe('most tool calls of a demonstration (β)'),
  perQuestion: count.default(1).describe('most demonstrations kept of a question'),
  prefer: z
    .enum(['fewestCalls', 'shortest'])
    .default('fewestCalls')
    .describe('which demonstrations are kept, where there are more'),
  concurrency: count.default(24).describe('questions tried at once'),
});

export const toolStarSettings = policySettings.extend({
  ...lossSettings.shape,
  callLimit: count.default(3).describe('most tool calls a rollout'),
  heldOut: count.default(150).describe('questions to evaluate on'),
  evaluationRollouts: count.default(2).describe('rollouts of each held-out question'),
  coldStart: coldStartSettings.prefault({}),
  finetune: finetuneSettings.prefault({}),
  loops: count.default(1).describe('rounds of RL, each with its self-critic'),
  hardMin: count
    .default(96)
    .describe('fewest questions of a round of RL, the least right of the others if need be'),
  hardMax: count.default(192).describe('most questions of a round of RL'),
  rollouts: count.default(8).describe('rollouts a question (n)'),
  batchGroups: count.default(12).describe('groups an optimiser step (B)'),
  miniBatches: count.default(2).describe('optimiser steps a batch'),
  lr: z.number().positive().default(6e-5).describe('learning rate of RL'),
  bonus: z
    .number()
    .nonnegative()
    .default(0.1)
    .describe('reward of a right answer that used search and Python (r_M)'),
  knowledge: z
    .enum(['f1', 'match'])
    .default('f1')
    .describe('how answers to questions of knowledge are scored'),
  criticQuestions: orNone
    .default(128)
    .describe('questions of the self-critic after each round of RL; 0 = no self-critic'),
  critic: preferSettings.prefault({ samples: 8 }),
});

export type ToolStarSettings = z.infer<typeof toolStarSettings>;
