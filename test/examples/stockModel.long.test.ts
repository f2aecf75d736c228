/**
 * The example of a stock-shaped model, as its section in docs/jobs.md runs it, with few lessons and few
 * questions.
 */
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { lessons } from '../../examples/stockModel/lessons.ts';
import { texts } from '../../examples/stockModel/start.ts';
import { writeTokenizer } from '../../examples/stockModel/tokenizer.ts';
import { dialectOf } from '../../jobs/dialects/dialectOf.ts';
import type { LoadedTokenizer } from '../../model/tokenizers/loadedTokenizer.ts';
import { loadTokenizer } from '../../model/tokenizers/loadTokenizer.ts';
import { encodeConversation } from '../../operators/dialect/encodeConversation.ts';
import { openLog } from '../../streams/embedded/openLog.ts';
import { recordsOf } from '../../streams/recordsOf.ts';
import { type Rollout, topics } from '../../topics/index.ts';
import { temporaryFolder } from '../support/folder.ts';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const folder = temporaryFolder();
const at = (...names: string[]): string => join(folder.path, ...names);
let tokenizer: LoadedTokenizer;

beforeAll(async () => {
  await writeTokenizer(at('tokenizer'), texts());
  tokenizer = await loadTokenizer(at('tokenizer'));
});
afterAll(() => folder.remove());

const piecesOf = (text: string): string[] =>
  [...tokenizer.encode(text)].map((token) => tokenizer.decode([token]));

test('a stock model has tags of several tokens, shared with their neighbours', () => {
  expect(piecesOf('<search>Tirham</search>')).toEqual([
    '<',
    'search',
    '>',
    'Tirham',
    '</',
    'search',
    '>',
  ]);
  expect(piecesOf('it.</think><python>')).toEqual(['it', '.</', 'think', '><', 'python', '>']);
  for (const text of texts()) expect(piecesOf(text)).toEqual([text]);
});

test('a stock model learns lessons in the prompt of its rollouts', async () => {
  const tools = ['python', 'search'].map((name) => ({ name, about: '' }));
  const { system, conversations } = lessons(1).next().value!;
  const { prompt } = await dialectOf({ name: 'tags', folder: at('tokenizer'), tools, system });
  const [question, answer] = conversations.map(({ value }) => value) as [string, string];
  const turn = { thinking: '', calls: [], name: '', callId: '' };
  const [learnt] = encodeConversation(
    [
      { ...turn, role: 'system', text: system, learnt: false },
      { ...turn, role: 'user', text: question, learnt: false },
      { ...turn, role: 'assistant', text: answer, learnt: true },
    ],
    '',
    { tokenizer, results: 'masked', learn: 'answers', afterEnd: 'masked' },
  );
  const asked = prompt(question);
  expect(learnt!.tokens.slice(0, asked.length)).toEqual(asked);
  expect(learnt!.mask.indexOf(1)).toBe(asked.length);
});

test('a stock model is made, taught, converted and calibrated by the commands of the docs', async () => {
  run('--import', 'tsx', 'examples/stockModel/make.ts', at('stock'), '--lessons', '40');
  const millrace = (...args: string[]) => run('dist/cli/main.js', ...args);
  const runs = ['--runs', at('runs')];
  const sft = ['--settings', at('stock', 'sft.yaml'), '--run', 'taught', '--set', 'size=20'];
  millrace('run', 'sft', ...runs, ...sft);
  millrace('model', 'convert', at('runs', 'taught'), at('stock', 'taught'));
  const config = JSON.parse(readFileSync(at('stock', 'taught', 'config.json'), 'utf8'));
  expect(config).toMatchObject({ model_type: 'llama', max_position_embeddings: 1024 });
  const few = ['explore=2', 'keep=2', 'heldOut=2', 'batchGroups=2', 'rollouts=4', 'responseMax=60'];
  const settings = few.flatMap((setting) => ['--set', setting]);
  const rl = ['--settings', at('stock', 'et-agent.yaml'), '--run', 'rl', ...settings];
  millrace('run', 'et-agent', ...runs, ...rl);
  const log = await openLog({ folder: at('runs', 'rl', 'log'), mode: 'read' });
  const rollouts: Rollout[] = [];
  const from = { kind: 'earliest' } as const;
  for await (const { value } of recordsOf(log, topics.rollouts, { from })) rollouts.push(value);
  await log.close();
  const after = rollouts.filter(({ version }) => version > 0);
  expect(after.length).toBeGreaterThan(0);
  for (const { prompt, question } of after) {
    expect(tokenizer.decode(prompt)).toBe(
      `<|im_start|>system\nThink. Search and compute to answer.<|im_end|>\n<|im_start|>user\n${question.question}<|im_end|>\n<|im_start|>assistant\n`,
    );
  }
});

function run(...args: readonly string[]): void {
  const { status, stderr } = spawnSync(process.execPath, [...args], {
    cwd: ROOT,
    encoding: 'utf8',
  });
  if (status !== 0) throw new Error(`${args.join(' ')}: ${stderr}`);
}
