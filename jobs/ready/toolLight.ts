/**
 * Tool-Light on your policy and questions: rounds of preference pairs for fewer and better tool calls.
 * `millrace run tool-light --set policy=… --set questions=…`
 */
import { z } from 'zod';
import {
  defineJob,
  policyRole,
  preferSettings,
  readyParts,
  readySettings,
  toolLight,
  toolLightPresets,
  toolLightSettings,
  trainPolicy,
} from '../../api/jobs.ts';

export const toolLightJob = defineJob({
  name: 'tool-light',
  about: 'Tool-Light: preference pairs, some guided by entropy, for fewer and better tool calls.',
  settings: z
    .object(readySettings)
    .extend(toolLightSettings.shape)
    .extend({
      responseMax: readySettings.responseMax,
      prefer: preferSettings.prefault({ lr: 7e-6 }),
    }),
  presets: toolLightPresets,

  async build(context) {
    const { settings } = context;
    const { parts, questions } = await readyParts(context);
    return trainPolicy(context, parts, questions, [
      toolLight(settings, { policy: policyRole(settings) }),
    ]);
  },
});

export default toolLightJob;
