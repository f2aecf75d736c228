/** What an evaluation leaves, and what it does to others: evaluations next to it, the newest run, weights. */
import { existsSync } from 'node:fs';
import { copyFile, mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { beforeEach, expect, test } from '@jest/globals';
import { main } from '../../cli/program.ts';
import { freshFolders } from '../support/folder.ts';
import { tinyRun } from '../support/tinyRun.ts';
import { until } from '../support/until.ts';
import { fakeIo } from './support/fakeIo.ts';

const base = fileURLToPath(new URL('../../examples/quickstart/base', import.meta.url));
const fresh = freshFolders();
let cwd: string;

beforeEach(async () => {
  cwd = fresh();
  const rows = ['2 + 3', '4 + 4', '7 + 2'].map((sum, i) => `s-${i},sums,What is ${sum}?,5,math`);
  await writeFile(join(cwd, 'sums.csv'), ['id,source,question,answer,ability', ...rows].join('\n'));
  await mkdir(join(cwd, 'base'));
  for (const file of await readdir(base)) {
    if (file.includes('.')) await copyFile(join(base, file), join(cwd, 'base', file));
  }
});

async function millrace(...args: string[]) {
  const io = fakeIo(cwd, 5000);
  const code = await main(args, io);
  return { code, out: io.stdout(), err: io.stderr().join('\n') };
}

const evaluate = (...args: string[]) =>
  millrace(
    'eval',
    ...['--policy', 'base', '--questions', 'sums.csv'],
    '--tools',
    'none',
    '--threads',
    '1',
    ...args,
  );

test('evaluations that start together have a run each', async () => {
  const ended = await Promise.all([1, 2, 3].map((seed) => evaluate('--seed', String(seed))));
  expect(ended.map(({ code, err }) => [code, code === 0 ? '' : err])).toEqual([
    [0, ''],
    [0, ''],
    [0, ''],
  ]);
  const runs = (await readdir(join(cwd, 'runs'))).sort();
  expect(runs).toEqual(['evaluate-1', 'evaluate-2', 'evaluate-3']);
  const seeds = await Promise.all(
    runs.map(
      async (run) => JSON.parse(await readFile(join(cwd, 'runs', run, 'run.json'), 'utf8')).seed,
    ),
  );
  expect(seeds.sort()).toEqual([1, 2, 3]);
});

test('an evaluation that cannot start leaves no folder, and its number free', async () => {
  expect((await evaluate('--policy', 'nothing')).code).toBe(1);
  expect((await evaluate('--temperature', '0', '--rollouts', '2')).code).toBe(2);
  await writeFile(join(cwd, 'empty.csv'), 'id,source,question,answer,ability\n');
  expect((await evaluate('--questions', 'empty.csv')).code).toBe(1);
  expect(existsSync(join(cwd, 'runs', 'evaluate-1'))).toBe(false);
  expect((await evaluate()).err).toMatch(/^starting run evaluate-1,/m);
});

test('an evaluation leaves no copy of the weights, and is verified from the originals', async () => {
  await evaluate('--run', 'first');
  const files = await readdir(join(cwd, 'runs/first'), { recursive: true });
  expect(files.filter((file) => file.endsWith('.safetensors'))).toEqual([]);
  expect(await millrace('replay', 'first', '--verify')).toMatchObject({ code: 0 });
  expect(await millrace('doctor', 'first')).toMatchObject({ code: 0 });
  const again = await millrace(
    'eval',
    '--policy',
    'first@0',
    '--questions',
    'sums.csv',
    '--tools',
    'none',
    '--limit',
    '1',
  );
  expect(again.code).toBe(0);
});

test('an evaluation does not count as the newest run for commands without a name', async () => {
  await evaluate('--run', 'alone');
  expect((await millrace('topics')).err).toContain('using run alone, the newest');
  await tinyRun(join(cwd, 'runs'), 'trained');
  const { err, code } = await millrace('report', '--no-page');
  expect([code, err]).toEqual([0, expect.stringContaining('using run trained, the newest')]);
});

test.each([
  ['while it starts', (said: string) => said.includes('starting run')],
  ['amid its rollouts', (said: string) => said.includes('rollouts')],
])(
  'an evaluation is stopped in order by Ctrl-C %s, and resumed by the line that it prints',
  async (_, when) => {
    const io = fakeIo(cwd, 5000);
    const given = ['--policy', 'base', '--questions', 'sums.csv', '--rollouts', '200'];
    const running = main(['eval', ...given, '--tools', 'none', '--threads', '1'], io);
    const log = join(cwd, 'runs/evaluate-1/metrics.jsonl');
    await until(() => when(io.stderr().join('\n')) || existsSync(log));
    io.interrupt();
    expect(await running).toBe(0);
    expect(io.stdout()).toBe('');
    const [, resume = ''] =
      /resume with: npx millrace (eval .*)$/m.exec(io.stderr().join('\n')) ?? [];
    expect(resume).toBe('eval --run evaluate-1');
    const { code, out } = await millrace(...resume.split(' '));
    expect(code).toBe(0);
    expect(out).toContain('3 questions · 200 rollouts each');
  },
);

test('a resumed evaluation says that its weights are gone', async () => {
  const io = fakeIo(cwd, 5000);
  const running = main(
    [
      'eval',
      '--run',
      'cut',
      '--policy',
      'base/policy.safetensors',
      '--questions',
      'sums.csv',
      '--tools',
      'none',
      '--threads',
      '1',
      '--rollouts',
      '200',
    ],
    io,
  );
  await until(() => existsSync(join(cwd, 'runs/cut/run.json')));
  io.interrupt();
  await running;
  await rm(join(cwd, 'base/policy.safetensors'));
  const { code, err } = await millrace('eval', '--run', 'cut');
  expect(code).toBe(1);
  expect(err).toMatch(/error \(POLICY\): .*policy\.safetensors no longer exists/);
});
