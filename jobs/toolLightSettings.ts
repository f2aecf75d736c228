/** Settings of the toolLight job: the numbers of the method, sizes for a small world. */
import { z } from 'zod';
import { count, policySettings } from './policySettings.ts';
import { preferSettings } from './preferSettings.ts';

const share = z.number().nonnegative();

export const mixSettings = z.object({
  vanilla: share.default(13),
  guided: share.default(7),
  hard: share.default(2),
  easy: share.default(1),
  scarce: z
    .number()
    .min(0)
    .max(1)
    .default(0.25)
    .describe('a class with less than this part of its due is taken whole and sets no measure'),
});

export const toolLightSettings = policySettings.extend({
  callLimit: count.default(8).describe('most tool calls a rollout (the method: 4 of each tool)'),
  candidates: count.default(400).describe('questions that direct inference tries'),
  sourceMin: count
    .default(48)
    .describe(
      'fewest questions of the source set, those that direct inference got right if need be',
    ),
  sourceMax: count.default(4000).describe('most questions of the source set'),
  loops: z.number().int().nonnegative().default(2).describe('self-evolution loops'),
  heldOut: count.default(150).describe('questions to evaluate on'),
  evaluationRollouts: count.default(2).describe('rollouts of each held-out question'),
  guidedShare: z
    .number()
    .min(0)
    .max(1)
    .default(0.5)
    .describe('share of the source set that the pre-aligned stage samples guided by entropy'),
  guided: z
    .object({
      steps: count.default(3).describe('steps of a main chain to branch at'),
      perStep: count.default(3).describe('branches at each of them'),
    })
    .prefault({}),
  mix: mixSettings
    .prefault({})
    .describe('proportions of the pairs: vanilla to guided, hard to easy'),
  tokensMax: count.default(6000).describe('longest response of a pair, in tokens'),
  prefer: preferSettings.prefault({}),
});

export type ToolLightSettings = z.infer<typeof toolLightSettings>;
