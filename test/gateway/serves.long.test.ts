/**
 * A run that serves, as a user starts it: sessions and rewards over HTTP, killed between them, and made again
 * from its log.
 */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { built, ROOT } from '../support/commandLine.ts';
import { temporaryFolder } from '../support/folder.ts';
import { freshRun, kafkaUrl, noKafka } from '../support/kafka.ts';
import { until } from '../support/until.ts';

const KEY = 'sixteen characters or more';
const folder = temporaryFolder();
let child: ChildProcess | null = null;
afterAll(() => {
  child?.kill('SIGKILL');
  folder.remove();
});

beforeAll(() => {
  const make = ['--import', 'tsx', join(ROOT, 'examples', 'stockModel', 'make.ts')];
  const stock = [join(folder.path, 'stock'), '--lessons', '5'];
  const options = { cwd: ROOT, encoding: 'utf8' } as const;
  const { status, stderr } = spawnSync(process.execPath, [...make, ...stock], options);
  expect({ status, stderr: status === 0 ? '' : stderr }).toEqual({ status: 0, stderr: '' });
});

const settings = {
  ...{ policy: 'stock/start', advantage: 'reinforce++', batchGroups: 4, miniBatches: 1 },
  ...{ promptMax: 200, responseMax: 200, lr: 1e-3 },
  ...{ 'agent.serve': true, 'agent.answerTokens': 12, 'agent.delayMs': 0 },
};

/** Starts the run, or goes on with it; where it listens. */
async function startedAs(name: string, log: readonly string[]): Promise<string> {
  const set = Object.entries(settings).flatMap(([key, value]) => ['--set', `${key}=${value}`]);
  const run = spawn(process.execPath, [built(), 'run', 'agent', '--run', name, ...log, ...set], {
    cwd: folder.path,
    env: { ...process.env, MILLRACE_GATEWAY_KEY: KEY },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  child = run;
  let said = '';
  for (const stream of [run.stdout, run.stderr]) {
    stream.setEncoding('utf8').on('data', (text: string) => {
      said += text;
    });
  }
  return until(() => {
    if (run.exitCode !== null) throw new Error(said);
    return /serving the policy at (http\S+):/.exec(said)?.[1];
  });
}

async function stopped(signal: NodeJS.Signals): Promise<void> {
  const run = child!;
  const ended = new Promise<void>((resolve) => {
    run.once('exit', () => resolve());
  });
  run.kill(signal);
  await ended;
}

async function post(url: string, body: unknown, headers: Record<string, string> = {}) {
  const answer = await fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: JSON.stringify(body),
  });
  const text = await answer.text();
  if (!answer.ok) throw new Error(`${answer.status} ${text}`);
  return JSON.parse(text) as Record<string, unknown>;
}

/** Opens a session and asks once; its path. */
async function served(url: string, question: string): Promise<string> {
  const key = { authorization: `Bearer ${KEY}` };
  const path = String((await post(`${url}/v1/sessions`, {}, key)).path);
  const messages = [{ role: 'user', content: question }];
  await post(`${url}${path}/v1/chat/completions`, { model: 'm', messages });
  return path;
}

function millrace(...args: readonly string[]): string {
  const { status, stdout, stderr } = spawnSync(process.execPath, [built(), ...args], {
    cwd: folder.path,
    encoding: 'utf8',
  });
  if (status !== 0) throw new Error(stderr);
  return `${stdout}${stderr}`;
}

const stepsOf = (name: string): number => {
  const file = join(folder.path, 'runs', name, 'metrics.jsonl');
  if (!existsSync(file)) return 0;
  return readFileSync(file, 'utf8').split('"time/train_ms"').length - 1;
};

const logs = [
  { name: 'in a folder', run: 'live', skip: null, log: [] },
  { name: 'on Kafka', run: freshRun(), skip: noKafka, log: ['--log', kafkaUrl] },
];
const suite = describe.each(logs.filter(({ skip }) => skip === null));
for (const { name, skip } of logs)
  if (skip !== null) test.skip(`a log ${name} (${skip})`, () => undefined);

suite('a log $name', ({ run, log }) => {
  test('serves a run that is killed between rewards, goes on, and is replayed from the log alone', async () => {
    const started = (): Promise<string> => startedAs(run, log);
    const steps = (): number => stepsOf(run);
    let url = await started();
    const first = await Promise.all([1, 2, 3, 4].map((n) => served(url, `What is ${n} + 1?`)));
    for (const [i, path] of first.entries())
      await post(`${url}${path}/v1/reward`, { value: i % 2 });
    await until(() => steps() === 1);

    const second = await Promise.all([1, 2, 3, 4].map((n) => served(url, `What is ${n} + 5?`)));
    await post(`${url}${second[0]}/v1/end`, {});
    const click = { 'idempotency-key': 'click' };
    for (const path of second.slice(1, 3)) {
      await post(`${url}${path}/v1/reward`, { value: 1 }, click);
    }
    // One whose answer nobody hears.
    void post(`${url}${second[3]}/v1/reward`, { value: 0 }, click).catch(() => undefined);
    await stopped('SIGKILL');

    url = await started();
    for (const path of second) await post(`${url}${path}/v1/reward`, { value: 1 }, click);
    await until(() => steps() === 2);
    await stopped('SIGINT');

    expect(millrace('doctor', run)).toContain('sound: checked');
    const topics = millrace('topics', run);
    expect(topics).toMatch(/^feedback +24 /m);
    expect(topics).toMatch(/^calls +8 /m);
    expect(topics).toMatch(/^rollouts +8 /m);
    expect(topics).toMatch(/^weights +3 /m);
    expect(millrace('replay', run, '--verify')).toContain('bit for bit');
  });
});
