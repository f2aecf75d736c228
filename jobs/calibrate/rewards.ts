/**
 * The reward of a rollout in `calibrate`. The strength of the efficiency reward (sigma) falls from round to
 * round, or by optimiser step, and may also fall within a round.
 */
import { byStep } from '../../operators/batching/index.ts';
import {
  accuracy,
  deepResearch,
  efficiency,
  hierarchical,
  type RewardFunction,
  sigmaFactor,
  toolStarOutcome,
} from '../../operators/rewards/index.ts';
import {
  AFTER_LAST_ROUND,
  type Question,
  type StepSizes,
  stepAt,
  versionOf,
} from '../../topics/index.ts';
import type { MethodPlace } from '../method.ts';
import type { CalibrateSettings } from './settings.ts';

/** `window` = candidates that Pareto sampling sorts together. */
export function rewardOf(
  settings: CalibrateSettings,
  window: number,
  place: MethodPlace,
): RewardFunction {
  switch (settings.reward) {
    case 'efficiency':
      return calibrating(settings, window, place);
    case 'accuracy':
      return accuracy(settings.mode === 'paper' ? 'f1' : 'match');
    case 'deep-research':
      return deepResearch();
    case 'hierarchical':
      return hierarchical();
    case 'tool-star':
      return toolStarOutcome({ verify: place.verify });
  }
}

/** The efficiency reward; evaluations count accuracy and format alone. */
function calibrating(
  settings: CalibrateSettings,
  window: number,
  { before, live }: MethodPlace,
): RewardFunction {
  const { batchGroups, mode } = settings;
  const firstRound = before.length + 1;
  const now = (question: Question): CalibrateSettings => ({ ...settings, ...live?.of(question) });
  const sigma = (question: Question): number => {
    if (question.phase === 'evaluate') return 0;
    const { sigmas, sigmaSteps } = now(question);
    const step = stepOfGroup(question, { batchGroups, window });
    const ofStep = step === null ? sigmaSteps[0]?.[1] : byStep(sigmaSteps, step);
    const ofRound = sigmas[question.round - firstRound] ?? sigmas.at(-1) ?? 0;
    return (ofStep ?? ofRound) * withinRound(question, settings);
  };
  const sigmaLength = (question: Question): number => sigma(question) * now(question).lengthWeight;
  return efficiency({ sigmaTool: sigma, sigmaLength, mode });
}

/** The step that trains on a group; null if it has no place in one. */
function stepOfGroup(
  { schedule, phase }: Question,
  { batchGroups, window }: StepSizes,
): number | null {
  if (schedule === null || schedule.version === AFTER_LAST_ROUND) return null;
  const step = stepAt(schedule, phase === 'practice' ? batchGroups : window);
  return versionOf(schedule.version, step) + 1;
}

/** The released trainer's decay within a round (ET-Agent §8.6): from 1 at its first step to 0 at its last. */
function withinRound(
  { schedule, phase }: Question,
  { sigmaDecay, batchGroups }: CalibrateSettings,
): number {
  if (!sigmaDecay || schedule === null || phase !== 'practice') return 1;
  const { index, of } = stepAt(schedule, batchGroups);
  return sigmaFactor(index + 1, of);
}
