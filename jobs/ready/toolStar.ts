/**
 * Tool-Star on your policy and questions: a cold start from the policy's own tries, RL on what it gets
 * wrong with and without tools, and preference pairs that it makes of its own responses. `millrace run
 * tool-star --set policy=… --set questions=…`
 */
import { z } from 'zod';
import {
  defineJob,
  finetuneSettings,
  policyRole,
  preferSettings,
  readyParts,
  readySettings,
  toolStar,
  toolStarPresets,
  toolStarSettings,
  trainPolicy,
} from '../../api/jobs.ts';

export const toolStarJob = defineJob({
  name: 'tool-star',
  about: 'Tool-Star: cold start, RL with a hierarchical reward on hard questions, self-critic DPO.',
  settings: z
    .object(readySettings)
    .extend(toolStarSettings.shape)
    .extend({
      responseMax: readySettings.responseMax,
      lr: z.number().positive().default(1e-6).describe('learning rate of RL'),
      finetune: finetuneSettings.prefault({ lr: 7e-6 }),
      critic: preferSettings.prefault({ samples: 8, lr: 5e-6 }),
    }),
  presets: toolStarPresets,

  async build(context) {
    const { settings } = context;
    const { parts, questions } = await readyParts(context);
    return trainPolicy(context, parts, questions, [
      toolStar(settings, { policy: policyRole(settings) }),
    ]);
  },
});

export default toolStarJob;
