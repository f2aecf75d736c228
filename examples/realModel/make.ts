/**
 * Makes what the example needs: `npx tsx examples/realModel/make.ts FOLDER POLICY` (real, and where
 * `npm run real-model` puts the model).
 *
 * - `corpus.jsonl`: a page for each of 60 towns;
 * - `demonstrations.jsonl`: questions about a third of them, answered with calls, in ShareGPT form;
 * - `train.jsonl`, `heldout.jsonl`: questions about the two other thirds;
 * - `system.txt`, `cold-start.yaml`: system prompt and settings.
 */
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Command, InvalidArgumentError } from 'commander';
import { searchTool } from 'millrace';
import { makeTasks, makeTowns, pageOf, type Step, type Task } from './world.ts';

const count = (text: string): number => {
  const value = Number(text);
  if (Number.isSafeInteger(value) && value > 0) return value;
  throw new InvalidArgumentError('It must be a whole number above 0.');
};
const command = new Command('make')
  .description('Makes the corpus, questions, demonstrations and settings of the example.')
  .argument('[folder]', 'where they are written', 'real')
  .argument('[policy]', 'folder of the model (default: SmolLM2-135M-Instruct in that folder)')
  .option('--seed <N>', 'of the towns and the questions', count, 1)
  .option('--demonstrations <N>', 'answered questions to learn from', count, 48)
  .option('--train <N>', 'questions to train on', count, 96)
  .option('--held-out <N>', 'questions to measure with', count, 48)
  .parse();
const { seed, ...sizesOf } = command.opts<{
  seed: number;
  demonstrations: number;
  train: number;
  heldOut: number;
}>();
const [place, policy = join(place!, 'SmolLM2-135M-Instruct')] = command.processedArgs as [
  string,
  string | undefined,
];
const folder = resolve(place);

const SYSTEM = `Think between <think> and </think>. Two tools help: <python>code</python> runs code, and <search>words</search> finds a page. What they give follows. End with <answer>The answer is \\boxed{…}.</answer>`;

/** Each part is about towns of its own: enough of them for a third of its questions to ask for a fact. */
const parts = ['demonstrations', 'train', 'heldOut'] as const;
const sizes = parts.map((name) => Math.max(20, Math.ceil(sizesOf[name] / 6)));
const towns = makeTowns(
  seed,
  sizes.reduce((sum, size) => sum + size, 0),
);
const part = (number: number) => {
  const from = sizes.slice(0, number).reduce((sum, size) => sum + size, 0);
  return towns.slice(from, from + sizes[number]!);
};
const documents = towns.map((town) => ({ id: town.name, title: town.name, text: pageOf(town) }));
const search = searchTool({ documents, top: 1 });

/** Sums of the demonstrations are computed by the program that they show. */
async function outputOf({ tool, input }: Step, { answer }: Task): Promise<string> {
  return tool === 'python'
    ? answer
    : (await search.run(input, new AbortController().signal)).output;
}

async function demonstrationOf(task: Task) {
  const pieces: string[] = [];
  for (const step of task.steps) {
    const { thought, tool, input } = step;
    const output = await outputOf(step, task);
    pieces.push(
      `<think>${thought}</think><${tool}>${input}</${tool}> <result>\n${output}\n</result>`,
    );
  }
  pieces.push(
    `<think>The result gives ${task.answer}.</think><answer>The answer is \\boxed{${task.answer}}.</answer>`,
  );
  const conversations = [
    { from: 'human', value: task.question },
    { from: 'gpt', value: pieces.join('') },
  ];
  return { system: SYSTEM, conversations };
}

const rowOf = ({ id, kind, question, answer }: Task) => {
  const ability = kind === 'search' ? 'qa' : 'math';
  return { id, source: kind, ability, question, answers: [answer] };
};

const write = (name: string, text: string) => writeFile(join(folder, name), text);
const lines = (rows: readonly object[]) => rows.map((row) => `${JSON.stringify(row)}\n`).join('');

const lessons = makeTasks(seed, 'demonstration', sizesOf.demonstrations, part(0));
await mkdir(folder, { recursive: true });
await write('corpus.jsonl', lines(documents));
await write('demonstrations.jsonl', lines(await Promise.all(lessons.map(demonstrationOf))));
await write('train.jsonl', lines(makeTasks(seed, 'train', sizesOf.train, part(1)).map(rowOf)));
await write(
  'heldout.jsonl',
  lines(makeTasks(seed, 'held-out', sizesOf.heldOut, part(2)).map(rowOf)),
);
await write('system.txt', `${SYSTEM}\n`);
const settings = await readFile(fileURLToPath(new URL('cold-start.yaml', import.meta.url)), 'utf8');
const filled = settings.replaceAll('FOLDER', folder).replaceAll('POLICY', resolve(policy));
await write('cold-start.yaml', filled);
console.error(`made ${folder}`);
