/**
 * `everyQuestion`: RL on every question as it comes (ARPO, AEPO, GRPO), in rounds that are passes over the
 * questions: the loop of `calibrate` without its selection.
 */
import type { z } from 'zod';
import { calibrate } from './calibrate/calibrate.ts';
import { type CalibrateSettings, calibrateSettings } from './calibrate/settings.ts';
import type { Method } from './method.ts';
import type { LoopOptions } from './policyLoop.ts';
import { positiveInt, roundsSetting } from './policySettings.ts';

/**
 * The settings of `everyQuestion` as a zod schema: those of `calibrate` except for the choice of questions.
 */
export const everyQuestionSettings = calibrateSettings
  .omit({
    select: true,
    sampler: true,
    frontMemory: true,
    keep: true,
    mixedOnly: true,
    epochs: true,
    exploreRollouts: true,
  })
  .extend({
    rounds: roundsSetting.default(3).describe('passes over the questions; forever = until stopped'),
    explore: positiveInt
      .default(256)
      .describe('questions per pass, trained on in steps of batchGroups; at most all'),
    reward: calibrateSettings.shape.reward
      .unwrap()
      .default('deep-research')
      .describe(calibrateSettings.shape.reward.description ?? ''),
  });

/** The settings of `everyQuestion`, with all defaults filled in. */
export type EveryQuestionSettings = z.infer<typeof everyQuestionSettings>;

/**
 * Trains on each question's group as it was rolled out and leaves none out. `own` replaces parts of the loop.
 */
export function everyQuestion(
  settings: EveryQuestionSettings,
  own: Partial<LoopOptions> = {},
): Method {
  const chosen: CalibrateSettings = {
    ...settings,
    select: 'groups',
    sampler: 'random',
    keep: settings.explore,
    mixedOnly: false,
    frontMemory: 1,
    epochs: 1,
    exploreRollouts: 0,
  };
  return calibrate(chosen, own);
}
