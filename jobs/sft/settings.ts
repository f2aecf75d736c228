/** Settings of supervised fine-tuning on data files (docs/data.md). */
import { z } from 'zod';
import { conversationForms } from '../../sources/index.ts';
import { positiveInt } from '../policySettings.ts';
import { entropySetting, rateSettings } from '../rateSettings.ts';

/**
 * With the defaults of LLaMA-Factory's supervised stage, except for results, which are masked, and long rows,
 * which are dropped.
 */
export const sftSettings = z.object({
  data: z
    .string()
    .default('')
    .describe(
      'files of conversations, comma-separated: JSON, JSON Lines, Parquet or CSV; FILE#NAME = a dataset of a dataset_info.json',
    ),
  form: z
    .enum(conversationForms)
    .default('auto')
    .describe('format of the rows; auto = detected from their fields'),
  heldOut: z.string().default('').describe('file of held-out conversations to measure the loss on'),
  heldOutMax: positiveInt.default(200).describe('maximum held-out conversations'),
  evaluateEvery: z
    .number()
    .int()
    .nonnegative()
    .default(0)
    .describe('steps between measurements of the held-out loss; 0 = once per epoch'),
  prompt: z
    .enum(['auto', 'data', 'policy'])
    .default('auto')
    .describe(
      'data = conversations as they are, with the chat template; policy = the question in the prompt of rollouts; auto = data if there is a chat template',
    ),
  learn: z
    .enum(['answers', 'last', 'all'])
    .default('answers')
    .describe(
      'what to learn: every answer, only the last one (mask_history), or everything (train_on_prompt)',
    ),
  results: z
    .enum(['masked', 'trained'])
    .default('masked')
    .describe('whether to learn the result blocks in answers too, as in the papers’ recipe'),
  afterEnd: z
    .enum(['masked', 'trained'])
    .default('masked')
    .describe('whether to learn the line end that a template puts after an answer too'),
  tokensMax: positiveInt.default(4096).describe('maximum sequence length in tokens (cutoff_len)'),
  tooLong: z
    .enum(['drop', 'cut'])
    .default('drop')
    .describe('whether a longer sequence is dropped or truncated'),
  epochs: positiveInt.default(3).describe('times each conversation is trained on'),
  size: positiveInt.default(32).describe('maximum conversations per optimiser step'),
  ...rateSettings,
  lr: rateSettings.lr.default(5e-6),
  entropyMin: entropySetting,
  minRatio: z.number().min(0).max(1).default(0).describe('with cosine: fraction of lr at the end'),
  rateAt: z
    .enum(['middle', 'start'])
    .default('middle')
    .describe(
      'where in a step the learning rate is evaluated; start = as in transformers, whose first step has rate 0',
    ),
});

/** `sftSettings` with all defaults filled in. */
export type SftSettings = z.infer<typeof sftSettings>;
