/**
 * AEPO on your policy and questions: ARPO with a budget that is split by how unsure the policy is, a
 * price on branching again and again, and clipping and advantages that spare unsure tokens. `millrace run
 * aepo --set policy=… --set questions=…`
 */
import { z } from 'zod';
import {
  aepoPresets,
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

const { aepo, branching } = everyQuestionSettings.shape;

export const aepoJob = defineJob({
  name: 'aepo',
  about: 'AEPO: ARPO with entropy-balanced rollouts, clipping and advantages.',
  settings: z
    .object(readySettings)
    .extend(everyQuestionSettings.shape)
    .extend({
      responseMax: readySettings.responseMax,
      environment: environmentSetting,
      branching: branching
        .unwrap()
        .default('aepo')
        .describe(branching.description ?? ''),
      aepo: aepo.unwrap().prefault({ clipping: true, advantageWeight: 0.2 }),
      lr: mayChange(z.number().positive().default(1e-6).describe('learning rate'), lrIdle),
    }),
  presets: aepoPresets,

  async build(context) {
    const { parts, questions } = await readyParts(context);
    return trainPolicy(context, parts, questions, [everyQuestion(context.settings)]);
  },
});

export default aepoJob;
