/**
 * All subjects. One file a family; a subject may be asynchronous (a model, say).
 */
import type { Subjects } from './subject.ts';
import { advantageSubjects } from './subjects/advantages.ts';
import { deepAgentSubjects } from './subjects/deepAgent.ts';
import { evaluationSubjects } from './subjects/evaluation.ts';
import { flywheelSubjects } from './subjects/flywheel.ts';
import { lossSubjects } from './subjects/losses.ts';
import { modelSubjects } from './subjects/model.ts';
import { rewardSubjects } from './subjects/rewards.ts';
import { rolloutSubjects } from './subjects/rollouts.ts';
import { samplingSubjects } from './subjects/sampling.ts';
import { textSubjects } from './subjects/text.ts';
import { toolPoSubjects } from './subjects/toolPo.ts';
import { toolSubjects } from './subjects/tools.ts';
import { toolUseSubjects } from './subjects/toolUse.ts';
import { trainingSubjects } from './subjects/training.ts';

export const subjects: Subjects = {
  ...textSubjects,
  ...rewardSubjects,
  ...samplingSubjects,
  ...advantageSubjects,
  ...lossSubjects,
  ...trainingSubjects,
  ...evaluationSubjects,
  ...toolUseSubjects,
  ...toolPoSubjects,
  ...rolloutSubjects,
  ...flywheelSubjects,
  ...toolSubjects,
  ...modelSubjects,
  ...deepAgentSubjects,
};
