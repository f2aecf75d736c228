/**
 * `finetune`: action-space-exploration fine-tuning (ET-Agent §5), the last step of a flywheel's round.
 *
 *     demonstrations ─► lessons (batch) ─► trainer (SFT) ─► weights
 *
 * When the last question has given its demonstrations, they are shuffled and trained on for some epochs.
 * Held-out questions are rolled out and measured before and after. With too few demonstrations the run ends
 * there (code `NO_DEMONSTRATIONS`).
 */
import { z } from 'zod';
import { MillraceError } from '../base/index.ts';
import { roundRate } from '../operators/batching/index.ts';
import { batchDemonstrations } from '../operators/index.ts';
import { flow, stage } from '../streams/index.ts';
import { topics } from '../topics/index.ts';
import type { Method } from './method.ts';
import { inflightFor } from './policyLoop.ts';
import { positiveInt } from './policySettings.ts';
import { entropySetting, rateSettings } from './rateSettings.ts';
import { tooFewDemonstrations } from './tooFewDemonstrations.ts';

/** With the quickstart's defaults. */
export const finetuneSettings = z.object({
  epochs: positiveInt.default(1).describe('times each demonstration is trained on'),
  size: positiveInt.default(16).describe('maximum demonstrations per optimiser step'),
  perQuestionMax: positiveInt.default(1).describe('maximum demonstrations per question'),
  ...rateSettings,
  entropyMin: entropySetting,
  demonstrationsMin: z
    .number()
    .int()
    .nonnegative()
    .default(1)
    .describe(
      'minimum demonstrations: with fewer the run ends before fine-tuning and says why; 0 = it goes on',
    ),
  results: z
    .enum(['masked', 'trained'])
    .default('masked')
    .describe('whether to learn tool results too (docs/losses.md)'),
});

/** The settings of `finetune`, with all defaults filled in. */
export type FinetuneSettings = z.infer<typeof finetuneSettings>;

/** Trains on the demonstrations that the method before it makes of its questions; ends its round. */
export function finetune(settings: FinetuneSettings): Method {
  return ({ before, seed }) => {
    const questions = before.at(-1)?.count;
    if (questions === undefined) {
      throw new MillraceError(
        'METHOD',
        'finetune needs an earlier method that makes demonstrations, such as flywheel',
      );
    }
    const { entropyMin, demonstrationsMin: examplesMin } = settings;
    return {
      rounds: [],
      loop: {
        training: { losses: { sft: { name: 'sft' } }, results: settings.results, entropyMin },
        rates: { sft: roundRate(settings) },
      },
      wire: ({ context: { log }, parts: { dialect }, begun, trained, rolled, scored, watched }) => {
        const tooFew = tooFewDemonstrations(log, dialect, examplesMin);
        const rules = { holdOut: entropyMin > 0, examplesMin, tooFew };
        const batching = batchDemonstrations({
          ...settings,
          ...rules,
          questions,
          seed,
          openMax: 1,
        });
        return flow(
          begun,
          stage('lessons', topics.demonstrations, topics.batches, batching, inflightFor(questions)),
          trained,
          rolled,
          scored,
          watched,
        );
      },
    };
  };
}
