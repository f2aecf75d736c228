/**
 * The settings `tools.files` and `tools.vision`: where questions' files are, how much is shown, and which
 * model sees images.
 */
import { z } from 'zod';
import { textModelSettings } from '../../model/text/index.ts';
import { positiveInt } from '../policySettings.ts';

/** `tools.files`. */
export const filesSettings = z.object({
  folder: z
    .string()
    .default('')
    .describe('folder of the files that questions name (process_file, visual_question_answering)'),
  characters: positiveInt
    .default(20_000)
    .describe('maximum characters of a file that a call shows'),
  bytesMax: positiveInt.default(64 * 1024 * 1024).describe('maximum bytes of a file'),
  timeoutMs: positiveInt.default(15_000).describe('time limit for reading a file'),
  memoryMaxMiB: positiveInt.default(256).describe('heap size of a thread that reads files'),
});

/** `tools.vision`. */
export const visionSettings = textModelSettings
  .extend({
    maxTokens: textModelSettings.shape.maxTokens.default(5000),
    timeoutMs: textModelSettings.shape.timeoutMs.default(360_000),
  })
  .prefault({})
  .describe('model that answers questions about images; visual_question_answering needs its url');
