/**
 * Supervised fine-tuning of your policy on your conversations (LLaMA-Factory's forms, OpenAI
 * messages). `millrace run sft --set policy=… --set data=…` (docs/data.md)
 */
import { z } from 'zod';
import {
  defineJob,
  policySettings,
  readySettings,
  sft,
  sftParts,
  sftPresets,
  sftSettings,
} from '../../api/jobs.ts';

const { policy, dialect, system, trainer, threads, provider } = readySettings;
const { data } = sftSettings.shape;

export const sftJob = defineJob({
  name: 'sft',
  about: 'Supervised fine-tuning on files of conversations.',
  settings: z.object({ policy, ...sftSettings.shape }).extend({
    data: data
      .unwrap()
      .min(1, 'is required: a file of conversations (JSON, JSON Lines, Parquet)')
      .prefault('')
      .describe(data.description ?? ''),
    dialect,
    system: system.describe(
      'with prompt=policy: file with the system prompt, default or none; empty = that of the run that the policy comes from, or none',
    ),
    trainer,
    threads,
    provider,
    keepVersions: policySettings.shape.keepVersions,
    saveEvery: policySettings.shape.saveEvery,
  }),
  presets: sftPresets,

  async build(context) {
    return sft(context, await sftParts(context));
  },
});

export default sftJob;
