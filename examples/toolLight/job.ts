/**
 * Tool-Light in the quickstart's world: a small policy with bad habits learns from preference pairs to call
 * tools less and better. `npx millrace run examples/toolLight/job.ts` runs it.
 *
 * The source set are the questions that the policy answers wrongly when it may not call. Easy questions have
 * twice the pairs of hard ones, not half: this policy's fault is waste, which easy ones show
 * (docs/toolStar.md has both). `--set loops=0` ends with the pre-aligned round; `--set questions=FILE` trains
 * on another CSV, JSONL or Parquet file.
 */
import { defineJob, mixSettings, toolLight, toolLightSettings, trainPolicy } from 'millrace';
import { policyRole } from 'millrace/jobs';
import { z } from 'zod';
import { worldParts, worldSettings } from '../quickstart/parts.ts';

export default defineJob({
  name: 'toolLight',
  about:
    'Teaches the quickstart’s policy to make fewer and better tool calls, with preference pairs.',
  settings: toolLightSettings.extend({
    ...worldSettings,
    ways: z
      .enum(['both', 'one'])
      .default('one')
      .describe('how the pre-aligned round samples: each question both ways, or one'),
    mix: mixSettings
      .prefault({ hard: 1, easy: 2 })
      .describe(toolLightSettings.shape.mix.description ?? ''),
  }),

  async build(context) {
    const { settings } = context;
    const { rows, parts } = await worldParts(context);
    const policy = policyRole(settings);
    return trainPolicy(context, parts, rows, [toolLight(settings, { policy })]);
  },
});
