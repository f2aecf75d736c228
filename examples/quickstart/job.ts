/**
 * The quickstart: a small policy with bad habits learns to stop wasting tool calls. `npm start` runs it.
 *
 * An invented world is written to the run folder (corpus, training and held-out questions); the base policy was
 * never shown this world. `--set questions=FILE` trains on another CSV, JSONL or Parquet file instead.
 */
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import {
  calibrate,
  calibrateSettings,
  callTools,
  defineJob,
  EmbeddedEngine,
  EmbeddedTrainer,
  loadWordTokenizer,
  planQuestions,
  pythonTool,
  readCorpus,
  readQuestions,
  searchTool,
} from 'millrace';
import { z } from 'zod';
import { prompt } from './policy.ts';
import { writeWorld } from './world/files.ts';

const here = fileURLToPath(new URL('.', import.meta.url));

export default defineJob({
  name: 'quickstart',
  about: 'Calibrates the tool use of a small policy in an invented world, in three rounds.',
  settings: calibrateSettings.extend({
    mixedOnly: z
      .boolean()
      .default(false)
      .describe(calibrateSettings.shape.mixedOnly.description ?? ''),
    base: z
      .string()
      .default('')
      .describe('folder of the first policy; empty = the quickstart’s own'),
    questions: z
      .string()
      .default('')
      .describe('questions file (CSV, JSONL, Parquet); empty = the world’s own'),
    threads: z
      .number()
      .int()
      .positive()
      .default(2)
      .describe('threads of engine and trainer, which take turns'),
  }),

  async build(context) {
    const { settings, folder, seed, clock, own } = context;
    const world = await writeWorld(folder, seed);
    const first = settings.base || join(here, 'base');
    const tokenizer = await loadWordTokenizer(join(first, 'tokenizer.json'));
    const base = join(first, 'policy.safetensors');
    const rows = settings.questions
      ? { train: readQuestions(settings.questions) }
      : { train: readQuestions(world.train), heldOut: readQuestions(world.heldOut) };

    if (settings.questions) {
      context.print(
        `training on ${settings.questions}; this policy knows its invented world alone, expect scores near zero`,
      );
    }

    return calibrate(context, {
      plan: await planQuestions(rows, { ...settings, seed }),
      engine: own(await EmbeddedEngine.create({ weights: base, threads: settings.threads, clock })),
      trainer: own(await EmbeddedTrainer.create({ policy: base, threads: settings.threads })),
      tools: own(
        callTools(
          [pythonTool(), searchTool({ documents: await readCorpus(world.corpus), top: 1 })],
          {
            tokenizer,
            clock,
          },
        ),
      ),
      tokenizer,
      prompt: prompt(tokenizer),
      base,
    });
  },
});
