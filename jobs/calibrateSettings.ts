/** Settings of the calibrate job, with what the quickstart takes as defaults. */
import { z } from 'zod';

const count = z.number().int().positive();

export const calibrateSettings = z.object({
  rounds: count.default(3).describe('rounds of explore, select, practise'),
  select: z
    .enum(['questions', 'groups'])
    .default('questions')
    .describe('roll the chosen questions out afresh, or train on the chosen groups as they are'),
  explore: count.default(256).describe('candidate questions a round'),
  keep: count.default(192).describe('questions that Pareto sampling keeps a round'),
  mixedOnly: z.boolean().default(true).describe('keep only questions answered right and wrong'),
  heldOut: count.default(150).describe('questions to evaluate on'),
  evaluationRollouts: count.default(2).describe('rollouts of each held-out question'),
  rollouts: count.default(8).describe('rollouts a question (n)'),
  branching: z
    .enum(['arpo', 'aepo', 'none'])
    .default('arpo')
    .describe('who branches after a tool’s answer; none = independent rollouts'),
  dynamicBudget: z
    .boolean()
    .default(true)
    .describe('aepo: a monitored rollout of each question decides its N'),
  initialRollouts: count
    .default(4)
    .describe('of these, roots before any branching (N); aepo: with a fixed budget only'),
  beamSize: count.default(2).describe('clones tried per branch and round, plus one (Z)'),
  branchProbability: z.number().min(0).max(1).default(0.5),
  entropyWeight: z.number().default(0.2),
  attribution: z
    .enum(['soft', 'hard'])
    .default('soft')
    .describe(
      'shared beginnings carry: each rollout’s own advantage, or the mean of those sharing',
    ),
  batchGroups: count.default(12).describe('groups an optimiser step (B)'),
  miniBatches: count.default(2).describe('optimiser steps a batch'),
  sigmas: z
    .array(z.number().nonnegative())
    .min(1)
    .default([0.6, 0.4, 0.2])
    .describe('strength of the efficiency reward, round by round'),
  lengthWeight: z
    .number()
    .nonnegative()
    .default(0.2)
    .describe('sigma of the length, as a share of sigma'),
  lr: z.number().positive().default(6e-5),
  clipLow: z.number().positive().default(0.2),
  clipHigh: z.number().positive().default(0.2),
  clipC: z.number().gt(1).default(3),
  temperature: z.number().nonnegative().default(1),
  responseMax: count.default(320).describe('most response tokens, tool results included'),
  callLimit: count.default(6).describe('most tool calls a rollout'),
  lagMax: z
    .number()
    .int()
    .nonnegative()
    .default(0)
    .describe('versions a rollout may be behind; 0 = on-policy'),
  concurrency: count.default(24).describe('questions rolled out at once'),
});

export type CalibrateSettings = z.infer<typeof calibrateSettings>;
