/**
 * `prefer`: a round of preferences, the last step of Tool-Star's and Tool-Light's rounds.
 *
 *     questions ─► rollout ─► score ─► pairs (by a criterion) ─► preferences (batch) ─► trainer (DPO) ─► weights
 *
 * When the last question has given its pairs, they are mixed, shuffled and trained on. The reference policy
 * is the one that wrote the responses, frozen.
 */
import { z } from 'zod';
import type { NamedLoss } from '../model/losses/index.ts';
import { roundRate } from '../operators/batching/index.ts';
import {
  type BatchExamplesOptions,
  batchPairs,
  type PairsOptions,
  pairs,
} from '../operators/index.ts';
import { flow, stage } from '../streams/index.ts';
import { topics } from '../topics/index.ts';
import type { Method } from './method.ts';
import { inflightFor } from './policyLoop.ts';
import { positiveInt } from './policySettings.ts';
import { rateSettings } from './rateSettings.ts';

/** The settings of a round of preferences as a zod schema: sampling, pairs, DPO. */
export const preferSettings = z.object({
  samples: positiveInt.default(10).describe('responses per question'),
  pairsMax: positiveInt.default(1).describe('maximum pairs per question'),
  beta: z
    .number()
    .positive()
    .default(0.1)
    .describe('strength of the pull towards the reference policy'),
  epochs: positiveInt.default(1).describe('times each pair is trained on'),
  size: positiveInt.default(16).describe('maximum pairs per optimiser step'),
  ...rateSettings,
});

/** The settings of `prefer`, with all defaults filled in. */
export type PreferSettings = z.infer<typeof preferSettings>;

/**
 * What the method around `prefer` decides: how pairs are chosen and mixed, and how many questions there are.
 */
export interface PreferParts extends Pick<BatchExamplesOptions, 'questions' | 'mix'> {
  readonly criterion: PairsOptions['criterion'];
  /** Limit of pairs per question; left out = `pairsMax`. */
  readonly perQuestionMax?: number;
  /** Limit of questions per round. */
  readonly most: number;
}

/** Trains on the pairs of the questions that are asked to `prefer`; the method around it has the rounds. */
export function prefer(settings: PreferSettings, parts: PreferParts): Method {
  return ({ seed }) => {
    const { pairsMax, beta } = settings;
    const { perQuestionMax = pairsMax } = parts;
    const dpo = { name: 'dpo', settings: { beta } } satisfies NamedLoss;
    const batching = batchPairs({ ...settings, ...parts, perQuestionMax, seed, openMax: 1 });
    return {
      rounds: [],
      loop: {
        training: { losses: { dpo } },
        rates: { dpo: roundRate(settings) },
      },
      wire: ({ context, parts: { tools }, begun, rolled, scored, trained, watched }) => {
        const { concurrency } = context.settings;
        const paired = pairs({ log: context.log, tools, criterion: parts.criterion, concurrency });
        return flow(
          begun,
          rolled,
          scored,
          stage('pairs', topics.scored, topics.pairs, paired, inflightFor(concurrency)),
          stage('preferences', topics.pairs, topics.batches, batching, inflightFor(parts.most)),
          trained,
          watched,
        );
      },
    };
  };
}
