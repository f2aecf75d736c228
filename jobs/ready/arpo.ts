/**
 * ARPO on your policy and questions: every question is rolled out with branching where the policy
 * becomes unsure around a tool call, and its group is trained on. `millrace run arpo --set policy=… --set
 * questions=…`
 *
 * `--set branching=none` is GRPO with the same budget.
 */
import { z } from 'zod';
import {
  arpoPresets,
  defineJob,
  environmentSetting,
  everyQuestion,
  everyQuestionSettings,
  lrIdle,
  mayChange,
  readyParts,
  readySettings,
  trainPolicy,
} from '../../api/jobs.ts';

export const arpoJob = defineJob({
  name: 'arpo',
  about: 'ARPO: RL with rollouts that branch where a tool call makes the policy unsure.',
  settings: z
    .object(readySettings)
    .extend(everyQuestionSettings.shape)
    .extend({
      responseMax: readySettings.responseMax,
      environment: environmentSetting,
      lr: mayChange(z.number().positive().default(1e-6).describe('learning rate'), lrIdle),
    }),
  presets: arpoPresets,

  async build(context) {
    const { parts, questions } = await readyParts(context);
    return trainPolicy(context, parts, questions, [everyQuestion(context.settings)]);
  },
});

export default arpoJob;
