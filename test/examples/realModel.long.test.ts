/** The example of a real small model, as its README runs it, on a tiny random one. */
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { KINDS, makeTasks, makeTowns } from '../../examples/realModel/world.ts';
import { formatFault } from '../../operators/dialect/format.ts';
import { openLog } from '../../streams/embedded/openLog.ts';
import { recordsOf } from '../../streams/recordsOf.ts';
import { topics } from '../../topics/index.ts';
import { built, ROOT } from '../support/commandLine.ts';
import { temporaryFolder } from '../support/folder.ts';

const folder = temporaryFolder();
const at = (...names: string[]): string => join(folder.path, ...names);
afterAll(() => folder.remove());

function run(...args: readonly string[]): void {
  const { status, stderr } = spawnSync(process.execPath, args, { cwd: ROOT, encoding: 'utf8' });
  if (status !== 0) throw new Error(stderr);
}
const millrace = (...args: readonly string[]) => run(built(), ...args);
const rows = (name: string) =>
  readFileSync(at('real', name), 'utf8')
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line));

beforeAll(() => {
  const tokenizer = ['--tokenizer', 'test/model/hf/fixtures/tokenizer'];
  millrace(
    'model',
    'init',
    at('policy'),
    '--size',
    'tiny',
    '--architecture',
    'qwen2',
    ...tokenizer,
  );
  run('--import', 'tsx', 'examples/realModel/make.ts', at('real'), at('policy'));
});

test('the world of the real model follows from its seed, and its answers from its steps', () => {
  const towns = makeTowns(1, 60);
  expect(new Set(towns.map(({ name }) => name)).size).toBe(60);
  const tasks = makeTasks(1, 'train', 90, towns);
  expect(makeTasks(1, 'train', 90, makeTowns(1, 60))).toEqual(tasks);
  expect(makeTasks(2, 'train', 90, towns)).not.toEqual(tasks);
  for (const [i, { kind, answer, steps }] of tasks.entries()) {
    expect(kind).toBe(KINDS[i % 3]);
    const last = steps.at(-1)!;
    const [, a, times, b, sign, c] =
      /^print\((\d+)(?: (\*) (\d+))?(?: ([+-]) (\d+))?\)$/.exec(last.input) ?? [];
    const found = towns.find(({ name }) => steps[0]!.input.startsWith(`${name} `));
    if (kind === 'search') expect(Object.values(found!).map(String)).toContain(answer);
    else {
      const product = Number(a) * (times === undefined ? 1 : Number(b));
      const rest = sign === undefined ? 0 : Number(`${sign}${c}`);
      expect(String(product + rest)).toBe(answer);
    }
  }
});

test('demonstrations, training and held-out questions of the real model are about different towns', () => {
  const names = rows('corpus.jsonl').map(({ title }) => String(title));
  const about = (text: string) => names.filter((name) => text.includes(name));
  const parts = [
    rows('demonstrations.jsonl').map(({ conversations }) => conversations[0].value),
    ...['train.jsonl', 'heldout.jsonl'].map((file) => rows(file).map(({ question }) => question)),
  ].map((questions) => new Set(questions.flatMap(about)));
  expect(parts.map(({ size }) => size > 5)).toEqual([true, true, true]);
  const all = parts.flatMap((part) => [...part]);
  expect(new Set(all).size).toBe(all.length);
  for (const { conversations } of rows('demonstrations.jsonl')) {
    expect(formatFault(conversations[1].value, 'selection', ['python', 'search'])).toBeNull();
  }
});

test('the settings of the real model make a cold start and RL', async () => {
  const small = [
    ...['heldOut=3', 'explore=2', 'rollouts=4', 'initialRollouts=2', 'batchGroups=2'],
    ...['finetune.epochs=1', 'responseMax=24', 'promptMax=512'],
  ].flatMap((setting) => ['--set', setting]);
  const settings = ['--settings', at('real', 'cold-start.yaml'), ...small];
  millrace('run', 'cold-start', ...settings, '--run', 'real', '--runs', at('runs'));
  const log = await openLog({ folder: at('runs', 'real', 'log'), mode: 'read' });
  const kinds: string[] = [];
  for await (const { value } of recordsOf(log, topics.batches, { from: { kind: 'earliest' } })) {
    kinds.push(`${value.round} ${value.kind} ${value.heldOut.length}`);
  }
  await log.close();
  expect(new Set(kinds)).toEqual(new Set(['1 sft 6', '2 policy 0']));
});
