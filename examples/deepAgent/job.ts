/**
 * DeepAgent in an invented world of 300 functions: a small policy that calls without having searched, names
 * arguments wrongly and folds for nothing learns by ToolPO to find the right function and to call it once.
 * `npx millrace run examples/deepAgent/job.ts`
 *
 * A rule answers the calls, another writes the memories. `--set callWeight=0 --set foldWeight=0` trains on
 * success alone.
 */
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import {
  callTools,
  defineJob,
  EmbeddedEngine,
  EmbeddedTrainer,
  loadWordTokenizer,
  trainPolicy,
} from 'millrace';
import { deepAgent, deepAgentSettings, deepAgentTools } from 'millrace/jobs';
import { bm25Retriever, functionText, type Tool } from 'millrace/operators';
import { z } from 'zod';
import { smallDialect } from './dialect.ts';
import { TOP } from './world/demonstrations.ts';
import { answerOf, functions } from './world/functions.ts';
import { memoryOf } from './world/memory.ts';
import { goldOf, makeTasks, type Task } from './world/tasks.ts';

const base = fileURLToPath(new URL('base/', import.meta.url));

/** A task as a question of the run. */
async function* rows(tasks: readonly Task[]) {
  for (const { id, question, answer } of tasks) {
    const source = 'deep-agent';
    yield { value: { id, question, answers: [answer], source, ability: 'qa' as const } };
  }
}

/** The functions as tools: a rule answers each. */
function libraryOf(seed: number): readonly Tool[] {
  return functions.map(({ name, description: about, parameters }) => ({
    ...{ name, about, parameters, concurrencyMax: 64, pure: true },
    async run(input) {
      const { of } = JSON.parse(input) as { readonly of: string };
      const answer = answerOf(seed, name, of);
      const output = JSON.stringify(answer).replace(':', ': ');
      return { output, ok: !('error' in (answer as object)) };
    },
    close: async () => undefined,
  }));
}

export default defineJob({
  name: 'deepAgent',
  about:
    'Teaches a small policy to find functions, call them correctly and fold its memory when it helps.',
  settings: deepAgentSettings.extend({
    rounds: deepAgentSettings.shape.rounds.default(2),
    explore: deepAgentSettings.shape.explore.default(192),
    batchGroups: deepAgentSettings.shape.batchGroups.default(16),
    responseMax: deepAgentSettings.shape.responseMax.default(220),
    heldOut: deepAgentSettings.shape.heldOut.default(100),
    lr: z.number().positive().default(3e-4).describe('learning rate'),
    episode: deepAgentSettings.shape.episode
      .unwrap()
      .prefault({ top: TOP, actions: 12, folds: 2, context: 300 }),
    questions: z.number().int().positive().default(400).describe('questions to train on'),
    threads: z.number().int().positive().default(2).describe('threads for engine and trainer'),
  }),

  async build(context) {
    const { settings, seed, clock, own } = context;
    const { threads, swap, episode } = settings;
    const dialect = smallDialect(
      await loadWordTokenizer(join(base, 'tokenizer.json')),
      episode.mode,
    );
    const library = libraryOf(seed);
    const passages = functions.map((doc) => ({ id: doc.name, contents: functionText(doc) }));
    const tools = deepAgentTools(settings, {
      library,
      seed,
      retriever: own(await bm25Retriever(passages, new AbortController().signal)),
      auxiliary: async ({ purpose, prompt }) => memoryOf(purpose, prompt),
    });
    const weights = join(base, 'policy.safetensors');
    const parts = {
      engine: own(await EmbeddedEngine.create({ weights, threads, swap, clock })),
      trainer: own(await EmbeddedTrainer.create({ policy: weights, threads })),
      tools: own(callTools(tools, { clock })),
      dialect,
      base: weights,
    };
    const train = makeTasks(seed, 'train', settings.questions);
    const asked = new Set(train.map(({ question }) => question));
    const heldOut = makeTasks(seed, 'heldout', settings.heldOut, asked);
    return trainPolicy(context, parts, { train: rows(train), heldOut: rows(heldOut) }, [
      deepAgent(settings, { dialect, library, gold: ({ question }) => goldOf(question) }),
    ]);
  },
});
