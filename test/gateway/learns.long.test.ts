/**
 * The example's agent as a user runs it: a program of its own for each rollout, in each protocol. The policy
 * learns what the agent rewards; a run that is killed goes on, and is replayed without the agent.
 */
import { spawn, spawnSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { built, ROOT } from '../support/commandLine.ts';
import { temporaryFolder } from '../support/folder.ts';
import { until } from '../support/until.ts';

const folder = temporaryFolder();
afterAll(() => folder.remove());
const at = (...names: string[]): string => join(folder.path, ...names);

beforeAll(() => {
  const make = ['--import', 'tsx', join(ROOT, 'examples', 'stockModel', 'make.ts')];
  const { status, stderr } = spawnSync(
    process.execPath,
    [...make, at('stock'), '--lessons', '50'],
    {
      cwd: ROOT,
      encoding: 'utf8',
    },
  );
  expect({ status, stderr: status === 0 ? '' : stderr }).toEqual({ status: 0, stderr: '' });
});

const settings = {
  policy: 'stock/start',
  questions: 'stock/train.csv',
  ...{ heldOut: 8, evaluationRollouts: 1, explore: 24, rollouts: 6, rounds: 1, batchGroups: 8 },
  ...{ miniBatches: 1, promptMax: 200, responseMax: 200, lr: 1e-3, 'agent.answerTokens': 24 },
};

const argumentsOf = (protocol: string): string[] => [
  ...[built(), 'run', 'agent', '--run', protocol],
  ...['--set', `agent.command=node "${join(ROOT, 'examples', 'agent', 'agent.mjs')}" ${protocol}`],
  ...Object.entries(settings).flatMap(([key, value]) => ['--set', `${key}=${value}`]),
];

function millrace(...args: readonly string[]): string {
  const { status, stdout, stderr } = spawnSync(process.execPath, args, {
    cwd: folder.path,
    encoding: 'utf8',
  });
  if (status !== 0) throw new Error(stderr);
  return `${stdout}${stderr}`;
}

/** Held-out accuracy, which is what the agent says of its work: before and after. */
function accuracies(run: string): number[] {
  return readFileSync(at('runs', run, 'metrics.jsonl'), 'utf8')
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as { readonly name: string; readonly value: number })
    .flatMap(({ name, value }) => (name === 'eval/accuracy' ? [value] : []));
}

test.each(['chat', 'responses'])(
  'a policy learns what an agent rewards that speaks %s',
  (protocol) => {
    millrace(...argumentsOf(protocol));
    const [before, after] = accuracies(protocol);
    expect(before).toBeLessThan(0.4);
    expect(after).toBeGreaterThan(before! + 0.2);
  },
);

test('an evaluation asks the agent of a run', () => {
  const asked = ['--policy', 'chat', '--questions', 'stock/heldout.csv', '--limit', '2', '--json'];
  expect(millrace(built(), 'eval', '--run', 'measured', ...asked)).toContain('"questions":2');
  expect(millrace(built(), 'topics', 'measured')).toMatch(/^calls +2 /m);
});

test('a killed run learns on with an agent that speaks messages, and is replayed without it', async () => {
  const child = spawn(process.execPath, argumentsOf('messages'), {
    cwd: folder.path,
    stdio: 'ignore',
  });
  const ended = new Promise<void>((resolve) => {
    child.once('exit', () => resolve());
  });
  const metrics = at('runs', 'messages', 'metrics.jsonl');
  // After its first step, with sessions under way.
  await until(() => existsSync(metrics) && readFileSync(metrics, 'utf8').includes('"agent/calls"'));
  child.kill('SIGKILL');
  await ended;
  millrace(...argumentsOf('messages'));
  const [before, after] = accuracies('messages');
  expect(after).toBeGreaterThan(before! + 0.2);
  expect(millrace(built(), 'doctor', 'messages')).toContain('sound: checked');
  const calls = millrace(built(), 'topics', 'messages');
  // 2 × 8 held-out questions and 24 groups of 6, one call each: none was made twice.
  expect(calls).toMatch(/^calls +160 /m);
  expect(millrace(built(), 'replay', 'messages', '--verify')).toContain('bit for bit');
});
