/**
 * What every job in the quickstart's world uses: the world's files, the first policy, an engine, a trainer,
 * the tools. They are owned by the job that asks for them.
 */
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import {
  callTools,
  EmbeddedEngine,
  EmbeddedTrainer,
  type JobContext,
  type PolicyParts,
  type PolicySettings,
  type Provider,
  providers,
  pythonTool,
  readCorpus,
  readQuestions,
  searchTool,
  type Tool,
} from 'millrace';
import {
  dialectOf,
  findPolicy,
  type JobQuestions,
  sameInputs,
  tokenizerFiles,
} from 'millrace/jobs';
import { z } from 'zod';
import { writeWorld } from './world/files.ts';
import { noisy } from './world/hard/noise.ts';
import { type WorldName, worldNames, worlds } from './world/worlds.ts';

const here = fileURLToPath(new URL('.', import.meta.url));

/** Settings that all these jobs have. */
export const worldSettings = {
  world: z
    .enum(worldNames)
    .default('small')
    .describe('hard = longer chains, dead ends, distractors and failing tools (see its README)'),
  base: z
    .string()
    .default('')
    .describe(
      'initial policy: a policy file, its folder, a Hugging Face folder, or a run’s folder; empty = the world’s own',
    ),
  questions: z
    .string()
    .default('')
    .describe('questions file (CSV, JSONL, Parquet); empty = the world’s own'),
  threads: z
    .number()
    .int()
    .positive()
    .default(2)
    .describe('threads for engine and trainer, which take turns'),
  provider: z
    .enum(providers)
    .default('cpu')
    .describe('device that engine and trainer compute on; tested at the start (docs/gpu.md)'),
};

interface WorldSettings extends PolicySettings {
  readonly world: WorldName;
  readonly base: string;
  readonly questions: string;
  readonly threads: number;
  readonly provider: Provider;
}

/** The parts that a job runs with, and the world's questions. */
export interface WorldParts {
  readonly rows: JobQuestions;
  readonly parts: PolicyParts;
}

/** `calculator` = the tool that computes, under the tag `python`; Python itself by default. */
export async function worldParts(
  context: JobContext<WorldSettings>,
  calculator: Tool = pythonTool(),
): Promise<WorldParts> {
  const { settings, folder, seed, clock, own } = context;
  const { threads, provider, questions, swap } = settings;
  const form = worlds[settings.world];
  const world = await writeWorld(folder, seed, form);
  const first = settings.base || join(here, form.base);
  const { path: base, folder: beside } = await findPolicy(first);
  if (context.replay === undefined)
    await sameInputs(folder, [
      ...(questions ? [questions] : [world.train, world.heldOut]),
      world.corpus,
      ...tokenizerFiles(beside),
    ]);
  if (questions) {
    context.print(
      `training on ${questions}, but this policy knows only its invented world: expect scores near zero`,
    );
  }
  const tools = [calculator, searchTool({ documents: await readCorpus(world.corpus), top: 1 })];
  const box = callTools(tools, { clock });
  return {
    rows: questions
      ? { train: readQuestions(questions) }
      : { train: readQuestions(world.train), heldOut: readQuestions(world.heldOut) },
    parts: {
      engine: own(await EmbeddedEngine.create({ weights: base, provider, threads, swap, clock })),
      trainer: own(await EmbeddedTrainer.create({ policy: base, provider, threads })),
      tools: own(form.noise > 0 ? noisy(box, seed, form.noise) : box),
      dialect: await dialectOf({ name: 'tags', folder: beside, tools }),
      base,
    },
  };
}
