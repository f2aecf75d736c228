/**
 * ET-Agent on your policy and questions: the flywheel makes demonstrations out of the policy's own
 * attempts, it is fine-tuned on them, and rounds of calibration follow. `millrace run et-agent --set policy=…
 * --set questions=…`
 *
 * `--set sft.data=FILE` fine-tunes on your conversations instead of the flywheel's (docs/data.md); `--set
 * flywheel.questions=0` begins with the calibration. Analyst and critic of the flywheel are the policy itself
 * unless `critic.url` and `analyst.url` name servers; a policy that is not a strong model is a poor critic.
 */
import { z } from 'zod';
import {
  calibrate,
  dataPromptLines,
  defineJob,
  environmentSetting,
  etAgent,
  etAgentPresets,
  etAgentSettings,
  finetuneSettings,
  learnData,
  lrIdle,
  mayChange,
  openData,
  promptRecord,
  readyParts,
  readySettings,
  roleSettings,
  sftSettings,
  trainPolicy,
} from '../../api/jobs.ts';

export const etAgentJob = defineJob({
  name: 'et-agent',
  about: 'ET-Agent: flywheel, fine-tuning on its results, rounds of calibration.',
  settings: z
    .object(readySettings)
    .extend(etAgentSettings.shape)
    .extend({
      responseMax: readySettings.responseMax,
      environment: environmentSetting,
      lr: mayChange(
        z.number().positive().default(1e-6).describe('learning rate of the rounds'),
        lrIdle,
      ),
      finetune: finetuneSettings.prefault({ lr: 5e-6 }),
      sft: sftSettings.prefault({ prompt: 'policy' }),
      analyst: roleSettings.prefault({}),
      critic: roleSettings.prefault({}),
    }),
  presets: etAgentPresets,

  async build(context) {
    const { settings, folder, print } = context;
    const { parts, questions, role } = await readyParts(context);
    if (settings.sft.data !== '') {
      const { tokenizer } = parts.dialect;
      const data = await openData(settings.sft, { tokenizer, folder, round: 1, print });
      for (const line of dataPromptLines(data, promptRecord(parts.dialect))) print(line);
      const methods = [learnData(settings.sft, data), calibrate(settings)];
      return trainPolicy(context, parts, questions, methods);
    }
    const roles = { analyst: role(settings.analyst), critic: role(settings.critic) };
    return trainPolicy(context, parts, questions, etAgent(settings, roles));
  },
});

export default etAgentJob;
