/** The settings of `calibrate`, and why changing some would do nothing. */
import { z } from 'zod';
import { type Idle, mayChange } from '../live.ts';
import { lossSettings } from '../lossSettings.ts';
import { policySettings, positiveInt, roundsSetting } from '../policySettings.ts';
import { windowSetting } from '../windowSetting.ts';

/** Numbers by optimiser step, in rising order of the steps. */
const pointsSetting = z
  .array(z.tuple([z.number().int().nonnegative(), z.number().nonnegative()]))
  .refine((points) => points.every(([at], i) => i === 0 || at > points[i - 1]![0]), {
    error: 'expected increasing steps, such as [[0, 0.6], [500, 0.2]]',
  })
  .default([]);

/** Why `keep` changes nothing: if a window is a part of a round, `keep` and `explore` only say how large. */
export const keepIdle: Idle = ({ select, window }) =>
  select === 'groups' && window === 'count'
    ? 'with select=groups it sizes the windows, which are fixed when the run starts; to change it, start another run'
    : null;

/** Why the strength of the efficiency reward changes nothing. */
const sigmaIdle: Idle = ({ reward }) =>
  reward === 'efficiency'
    ? null
    : `it applies to reward=efficiency, but the run has reward=${reward}`;

const byStepInstead =
  (name: 'sigmaSteps' | 'lrSteps'): Idle =>
  (settings) =>
    ((settings[name] ?? []) as readonly unknown[]).length === 0
      ? null
      : `${name} sets it by step; change that, or also set ${name}=[]`;

/** Why `lr` changes nothing. */
export const lrIdle: Idle = byStepInstead('lrSteps');

/** With the quickstart's defaults. */
export const calibrateSettings = policySettings.extend({
  ...lossSettings.shape,
  rounds: roundsSetting
    .default(3)
    .describe('rounds of explore, select, practise; forever = until stopped'),
  select: z
    .enum(['questions', 'groups'])
    .default('questions')
    .describe(
      'what to train on: fresh rollouts of the selected questions, or the selected groups themselves',
    ),
  sampler: z
    .enum(['pareto', 'front', 'random'])
    .default('pareto')
    .describe(
      'how candidates are selected: by the Pareto fronts of the window, by those of the window plus earlier groups (a running front), or at random (to measure what Pareto sampling adds)',
    ),
  frontMemory: positiveInt
    .default(512)
    .describe('with sampler=front: groups of earlier windows to compare candidates with'),
  explore: positiveInt.default(256).describe('candidate questions per round'),
  window: windowSetting,
  keep: mayChange(
    positiveInt.default(192).describe('questions that Pareto sampling keeps per round'),
    keepIdle,
  ),
  epochs: positiveInt
    .default(1)
    .describe('times each kept question is rolled out again and trained on in its round'),
  mixedOnly: z
    .boolean()
    .default(true)
    .describe('keep only questions with both right and wrong answers'),
  evaluateEvery: z
    .number()
    .int()
    .nonnegative()
    .default(0)
    .describe(
      'optimiser steps between evaluations, rounded up to the end of a round (a round counts as if it kept as many as it may); 0 = after every round',
    ),
  evaluationRollouts: positiveInt.default(2).describe('rollouts per held-out question'),
  rollouts: positiveInt.default(8).describe('rollouts per question (n)'),
  exploreRollouts: z
    .number()
    .int()
    .nonnegative()
    .default(0)
    .describe('rollouts per candidate, if selected questions are rolled out again; 0 = n'),
  branching: z
    .enum(['arpo', 'aepo', 'none'])
    .default('arpo')
    .describe(
      'method that decides where to branch after a tool result; none = independent rollouts',
    ),
  dynamicBudget: z
    .boolean()
    .default(true)
    .describe('aepo: let a monitored rollout of each question decide its N'),
  initialRollouts: positiveInt
    .default(4)
    .describe(
      'of these, independent roots before any branching (N); aepo: only with a fixed budget',
    ),
  beamSize: positiveInt.default(2).describe('clones tried per branch and round, plus one (Z)'),
  branchProbability: z
    .number()
    .min(0)
    .max(1)
    .default(0.5)
    .describe('probability of a clone where the entropy has not changed (b); aepo: 1 minus this'),
  entropyWeight: z
    .number()
    .default(0.2)
    .describe('how strongly a change in entropy shifts that probability (w)'),
  entropyAt: z
    .enum(['call', 'result'])
    .default('call')
    .describe(
      'where ARPO and AEPO measure entropy: in the segment with the call (as released), or after the result',
    ),
  penaltyScope: z
    .enum(['group', 'path'])
    .default('group')
    .describe(
      'aepo: whose consecutive branchings make the next one less likely, the group’s or the path’s',
    ),
  attribution: z
    .enum(['soft', 'hard'])
    .default('soft')
    .describe(
      'advantage of shared prefixes: each rollout’s own (soft), or the mean of those sharing them (hard)',
    ),
  batchGroups: positiveInt.default(12).describe('groups per optimiser step (B)'),
  miniBatches: positiveInt.default(2).describe('optimiser steps per batch'),
  reward: z
    .enum(['efficiency', 'accuracy', 'deep-research', 'hierarchical', 'tool-star'])
    .default('efficiency')
    .describe(
      'reward of a rollout: ET-Agent’s, correctness only, ARPO’s, or Tool-Star’s, as in the paper or as its release trains with',
    ),
  mode: z
    .enum(['reference', 'paper'])
    .default('reference')
    .describe('Pareto sampling and efficiency reward as in the released code, or as in the paper'),
  answers: z
    .enum(['own', 'whole'])
    .default('own')
    .describe(
      'where answers and format are read: only in what the policy wrote, or also in tool results, as released (docs/security.md)',
    ),
  sigmas: mayChange(
    z
      .array(z.number().nonnegative())
      .min(1)
      .default([0.6, 0.4, 0.2])
      .describe(
        'strength of the efficiency reward by round; the last value holds for all later rounds',
      ),
    (settings) => sigmaIdle(settings) ?? byStepInstead('sigmaSteps')(settings),
  ),
  sigmaDecay: z
    .boolean()
    .default(false)
    .describe('also reduce it within each round, step by step to 0, as the released trainer does'),
  lengthWeight: mayChange(
    z.number().nonnegative().default(0.2).describe('sigma of the length, as a fraction of sigma'),
    sigmaIdle,
  ),
  sigmaSteps: mayChange(
    pointsSetting.describe(
      'sigma by optimiser step instead: [[step, sigma], …], interpolated linearly; [] = by round',
    ),
    sigmaIdle,
  ),
  lr: mayChange(z.number().positive().default(6e-5), lrIdle),
  lrSteps: mayChange(
    pointsSetting.describe(
      'learning rate by optimiser step instead: [[step, lr], …], interpolated linearly; [] = lr',
    ),
  ),
});

/** The settings of `calibrate`, with all defaults filled in. */
export type CalibrateSettings = z.infer<typeof calibrateSettings>;
