/**
 * A small stock policy that calls no tool: demonstrations, fine-tuning on them while entropy is left, then
 * RL. `millrace run cold-start --set policy=… --set questions=…` (docs/coldStart.md)
 *
 * Demonstrations come from a file (`--set sft.data=FILE`), from a stronger model on a server
 * (`--set teacher.url=… --set teacher.model=…`), or else from the policy's own right attempts.
 */
import { z } from 'zod';
import {
  coldStart,
  coldStartSettings,
  type DemonstrationsFrom,
  dataPromptLines,
  defineJob,
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

/** The settings of data files that `finetune` lacks. */
const ofData = {
  data: true,
  form: true,
  prompt: true,
  learn: true,
  tokensMax: true,
  tooLong: true,
} as const;

export const coldStartJob = defineJob({
  name: 'cold-start',
  about: 'A small stock policy: demonstrations, fine-tuning, RL.',
  settings: z
    .object(readySettings)
    .extend(coldStartSettings.shape)
    .extend({
      responseMax: readySettings.responseMax,
      lr: mayChange(z.number().positive().default(5e-6).describe('learning rate of RL'), lrIdle),
      finetune: finetuneSettings.prefault({
        ...{ epochs: 3, size: 8, lr: 5e-5, entropyMin: 0.1, demonstrationsMin: 8 },
      }),
      sft: sftSettings.pick(ofData).prefault({ prompt: 'policy' }),
      teacher: roleSettings.prefault({}),
    }),

  async build(context) {
    const { settings, folder, print } = context;
    const { sft, teacher } = settings;
    const { parts, questions, role } = await readyParts(context);
    const from = async (): Promise<DemonstrationsFrom> => {
      if (sft.data === '' && teacher.url === '') {
        print('demonstrations: the policy’s own right attempts');
        return { kind: 'own' };
      }
      if (sft.data === '') {
        print(`demonstrations: a flywheel with ${teacher.model} at ${teacher.url}`);
        return { kind: 'flywheel', teacher: role(teacher) };
      }
      const learning = sftSettings.parse({ ...settings.finetune, ...sft });
      const { tokenizer } = parts.dialect;
      const data = await openData(learning, { tokenizer, folder, round: 1, print });
      for (const line of dataPromptLines(data, promptRecord(parts.dialect))) print(line);
      return { kind: 'file', learn: learnData(learning, data) };
    };
    return trainPolicy(context, parts, questions, coldStart(settings, await from()));
  },
});

export default coldStartJob;
