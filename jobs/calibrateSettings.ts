/** Settings of the calibrate job, with what the quickstart takes as defaults. */
import { z } from 'zod';
import { lossSettings } from './lossSettings.ts';
import { count, policySettings } from './policySettings.ts';

export const calibrateSettings = policySettings.extend({
  ...lossSettings.shape,
  rounds: count.default(3).describe('rounds of explore, select, practise'),
  select: z
    .enum(['questions', 'groups'])
    .default('questions')
    .describe('roll the chosen questions out afresh, or train on the chosen groups as they are'),
  sampler: z
    .enum(['pareto', 'random'])
    .default('pareto')
    .describe('which candidates are kept: the Pareto fronts, or any (to see what Pareto adds)'),
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
  entropyAt: z
    .enum(['call', 'result'])
    .default('call')
    .describe(
      'where ARPO and AEPO look: in the segment of the call (as released), or behind the result',
    ),
  penaltyScope: z
    .enum(['group', 'path'])
    .default('group')
    .describe('aepo: whose branchings in a row make the next less likely'),
  attribution: z
    .enum(['soft', 'hard'])
    .default('soft')
    .describe(
      'shared beginnings carry: each rollout’s own advantage, or the mean of those sharing',
    ),
  batchGroups: count.default(12).describe('groups an optimiser step (B)'),
  miniBatches: count.default(2).describe('optimiser steps a batch'),
  reward: z
    .enum(['efficiency', 'accuracy', 'deep-research', 'hierarchical'])
    .default('efficiency')
    .describe('what a rollout is worth: ET-Agent’s, correctness alone, ARPO’s, Tool-Star’s'),
  mode: z
    .enum(['reference', 'paper'])
    .default('reference')
    .describe('Pareto sampling and efficiency reward as released, or as the paper has them'),
  sigmas: z
    .array(z.number().nonnegative())
    .min(1)
    .default([0.6, 0.4, 0.2])
    .describe('strength of the efficiency reward, round by round'),
  sigmaDecay: z
    .boolean()
    .default(false)
    .describe('weaken it within a round too, step by step down to 0, as the released trainer does'),
  lengthWeight: z
    .number()
    .nonnegative()
    .default(0.2)
    .describe('sigma of the length, as a share of sigma'),
  lr: z.number().positive().default(6e-5),
});

export type CalibrateSettings = z.infer<typeof calibrateSettings>;
