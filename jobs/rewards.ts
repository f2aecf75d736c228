/** The rewards by the names that settings give them. */
import { accuracy } from '../operators/rewards/accuracy.ts';
import { deepResearch } from '../operators/rewards/deepResearch.ts';
import { efficiency } from '../operators/rewards/efficiency.ts';
import { hierarchical } from '../operators/rewards/hierarchical.ts';
import type { RewardFunction } from '../operators/rewards/reward.ts';
import { sigmaFactor } from '../operators/rewards/sigmaSchedule.ts';
import { stepAt } from '../operators/schedule.ts';
import type { Question } from '../streams/records.ts';
import type { CalibrateSettings } from './calibrateSettings.ts';
import type { QuestionPlan } from './plan.ts';

type RewardOf = (settings: CalibrateSettings, plan: QuestionPlan) => RewardFunction;

export const rewards: Record<CalibrateSettings['reward'], RewardOf> = {
  efficiency: calibrating,
  accuracy: ({ mode }) => accuracy(mode === 'paper' ? 'f1' : 'match'),
  'deep-research': () => deepResearch(),
  hierarchical: () => hierarchical(),
};

/** The efficiency reward, its strength falling from round to round; evaluations count accuracy and format alone. */
function calibrating(settings: CalibrateSettings, { firstRound }: QuestionPlan): RewardFunction {
  const { sigmas, lengthWeight, mode } = settings;
  const sigma = (question: Question): number => {
    if (question.phase === 'evaluate') return 0;
    const ofRound = sigmas[question.stage - firstRound] ?? sigmas.at(-1) ?? 0;
    return ofRound * withinRound(question, settings);
  };
  return efficiency({
    sigmaTool: sigma,
    sigmaLength: (question) => sigma(question) * lengthWeight,
    mode,
  });
}

/** The released trainer's decay within a stage (ET-Agent §8.6): from 1 at its first step to 0 at its last. */
function withinRound(
  { schedule, phase }: Question,
  { sigmaDecay, batchGroups }: CalibrateSettings,
): number {
  if (!sigmaDecay || schedule === null || phase !== 'practice') return 1;
  const { index, of } = stepAt(schedule, batchGroups);
  return sigmaFactor(index + 1, of);
}
