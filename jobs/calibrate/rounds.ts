/** The rounds of `calibrate`: how many candidates each has and keeps, and when to evaluate. */
import { AFTER_LAST_ROUND, placesEach, stepsOf } from '../../topics/index.ts';
import type { MethodPlace } from '../method.ts';
import type { RoundPlan } from '../plan.ts';
import { windowLengthMs } from '../windowSetting.ts';
import type { CalibrateSettings } from './settings.ts';

/** Candidates of a round; how many Pareto sampling sorts together, and how many of them it keeps. */
export interface RoundSizes {
  readonly explore: number;
  readonly window: number;
  readonly keep: number;
  /** How long a round takes candidates; null = until it has all that it explores. */
  readonly lengthMs: number | null;
}

/**
 * `train` = questions to train on. If groups are trained on as they are, a window is a step: `batchGroups`
 * candidates if all are kept, otherwise as many as it takes to fill the steps with the kept ones.
 */
export function sizesOf(
  {
    select,
    batchGroups,
    ...rest
  }: Pick<CalibrateSettings, 'select' | 'explore' | 'keep' | 'batchGroups' | 'window'>,
  train: number,
): RoundSizes {
  const explore = Math.min(rest.explore, train);
  const lengthMs = windowLengthMs(rest.window, train);
  // How many candidates come in a given time is unknown, so together they are one window.
  if (select === 'questions' || lengthMs !== null) {
    return { explore, window: explore, keep: rest.keep, lengthMs };
  }
  const window =
    rest.keep >= explore
      ? Math.min(batchGroups, explore)
      : placesEach(explore, stepsOf(rest.keep, batchGroups));
  return { explore, window, keep: batchGroups, lengthMs };
}

/** Which settings exceed what there is, and the effect. */
export function unmet(
  { explore, keep, epochs, batchGroups }: CalibrateSettings,
  sizes: RoundSizes,
): string[] {
  const most = sizes.lengthMs === null ? Math.min(keep, sizes.explore) * epochs : batchGroups;
  const all = sizes.explore;
  const lines = [
    explore > all &&
      `explore=${explore} exceeds the ${all} training questions, so each round uses all of them`,
    // If all are kept, the two are one setting.
    keep > all &&
      keep !== explore &&
      `keep=${keep} exceeds the ${all} candidates of a round, so all that qualify are kept`,
    batchGroups > most &&
      `batchGroups=${batchGroups} exceeds the ${most} groups of a round, so each step uses all of them`,
  ];
  return lines.filter((line) => line !== false);
}

/**
 * Each window is one step, so if nothing is trained before the rounds, the version that each begins with is
 * known.
 */
export function rounds(
  settings: CalibrateSettings,
  { explore, window, lengthMs }: RoundSizes,
  { before }: MethodPlace,
): RoundPlan[] {
  const steps = stepsEach(settings, { explore, window });
  const planOf = (round: number): RoundPlan => {
    const version = before.length > 0 ? AFTER_LAST_ROUND : round * stepsOf(explore, window);
    const plan: RoundPlan = {
      name: `round ${round + 1}`,
      phase: 'explore',
      count: explore,
      skip: round * explore,
      ...(lengthMs === null ? {} : { lengthMs }),
      evaluated: isEvaluated(round, steps, settings),
      ...(settings.rounds === 'forever' ? { next: () => planOf(round + 1) } : {}),
    };
    if (settings.select === 'questions') return plan;
    return { ...plan, schedule: (index) => ({ index, of: explore, version }) };
  };
  if (settings.rounds === 'forever') return [planOf(0)];
  return Array.from({ length: settings.rounds }, (_, round) => planOf(round));
}

/** Steps of a round that keeps as many as it may. */
function stepsEach(
  { select, keep, epochs, batchGroups }: CalibrateSettings,
  { explore, window }: Pick<RoundSizes, 'explore' | 'window'>,
): number {
  if (select === 'groups') return stepsOf(explore, window);
  return stepsOf(Math.min(keep, explore) * epochs, batchGroups);
}

/**
 * Whether a round, from 0, is the first to end at or after another `evaluateEvery` steps, or the last of
 * all.
 */
function isEvaluated(
  round: number,
  steps: number,
  { evaluateEvery, rounds }: Pick<CalibrateSettings, 'evaluateEvery' | 'rounds'>,
): boolean {
  if (evaluateEvery === 0 || round + 1 === rounds) return true;
  const due = (ended: number): number => Math.floor((ended * steps) / evaluateEvery);
  return due(round + 1) > due(round);
}
