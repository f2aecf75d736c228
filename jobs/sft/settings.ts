/** Settings of supervised fine-tuning on data files (docs/data.md). */
import { z } from 'zod';
import { conversationForms } from '../../sources/conversationForms.ts';
import { positiveInt } from '../policySettings.ts';
import { rateSettings } from '../rateSettings.ts';

/** With the defaults of LLaMA-Factory's supervised stage, but for results, which are masked, and long rows, which are dropped. */
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
    .describe('what rows look like; auto = told from their fields'),
  heldOut: z.string().default('').describe('file of conversations to measure the loss on'),
  heldOutMax: positiveInt.default(200).describe('most of them'),
  evaluateEvery: z
    .number()
    .int()
    .nonnegative()
    .default(0)
    .describe('steps between two measurements of the held-out loss; 0 = once an epoch'),
  prompt: z
    .enum(['auto', 'data', 'policy'])
    .default('auto')
    .describe(
      'data = conversations as they are, by the chat template; policy = the question in the prompt that rollouts have; auto = data where there is a chat template',
    ),
  learn: z
    .enum(['answers', 'last', 'all'])
    .default('answers')
    .describe(
      'what is learnt: every answer, the last one (mask_history), or all (train_on_prompt)',
    ),
  results: z
    .enum(['masked', 'trained'])
    .default('masked')
    .describe('whether the result blocks in answers are learnt too, as the papers’ recipe does'),
  afterEnd: z
    .enum(['masked', 'trained'])
    .default('masked')
    .describe('whether the line end that a template puts after an answer is learnt too'),
  tokensMax: positiveInt.default(4096).describe('longest sequence, in tokens (cutoff_len)'),
  tooLong: z
    .enum(['drop', 'cut'])
    .default('drop')
    .describe('a longer one is left out, or its first tokens are trained on'),
  epochs: positiveInt.default(3).describe('how often each conversation is trained on'),
  size: positiveInt.default(32).describe('most conversations an optimiser step'),
  ...rateSettings,
  lr: rateSettings.lr.default(5e-6),
  minRatio: z.number().min(0).max(1).default(0).describe('of cosine: the factor that it falls to'),
  rateAt: z
    .enum(['middle', 'start'])
    .default('middle')
    .describe(
      'where in a step its learning rate is taken; start = as transformers, whose first step has rate 0',
    ),
});

/** `sftSettings` with all defaults filled in. */
export type SftSettings = z.infer<typeof sftSettings>;
