/** `millrace run` as a process of its own: signals and kills. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it, test } from '@jest/globals';
import { main } from '../../cli/program.ts';
import type { RunRecord } from '../../cli/runRecord.ts';
import { built } from '../support/commandLine.ts';
import { until } from '../support/until.ts';
import { fakeIo } from './support/fakeIo.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));
const job = 'test/cli/fixtures/numbers.job.ts';

let runs: string;
beforeAll(async () => {
  runs = await mkdtemp(join(tmpdir(), 'millrace-run-'));
});
afterAll(() => rm(runs, { recursive: true }));

interface Ended {
  readonly code: number | null;
  readonly out: string;
  readonly err: string;
}

async function millrace(...args: string[]): Promise<Ended> {
  const io = fakeIo(root);
  const code = await main([...args, '--runs', runs], io);
  return { code, out: io.stdout(), err: io.stderr().join('\n') };
}

function start(...args: string[]): ChildProcess {
  return spawn(process.execPath, ['--import', 'tsx', 'cli/main.ts', ...args, '--runs', runs], {
    cwd: root,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
}

async function ended(child: ChildProcess): Promise<Ended> {
  let [out, err] = ['', ''];
  child.stdout!.on('data', (chunk) => {
    out += chunk;
  });
  child.stderr!.on('data', (chunk) => {
    err += chunk;
  });
  const [exited, signal] = (await once(child, 'close')) as [number | null, string | null];
  const code = signal === 'SIGINT' ? 130 : exited; // as a shell tells it
  return { code, out, err };
}

const recordOf = async (name: string): Promise<RunRecord> =>
  JSON.parse(await readFile(join(runs, name, 'run.json'), 'utf8'));

test('a job that imports another copy of the library than the one that runs it is refused, with both', async () => {
  const args = [built(), 'run', 'test/cli/fixtures/tiny.job.ts', '--runs', runs];
  const child = spawn(process.execPath, args, { cwd: root, stdio: ['ignore', 'pipe', 'pipe'] });
  const { code, err } = await ended(child);
  expect(code).toBe(1);
  expect(err).toContain("dist), and the two do not work together: import from 'millrace'");
});

/** Ids in `rollouts`, in order. */
async function idsOf(name: string): Promise<string[]> {
  const { out } = await millrace(
    'tap',
    `${name}.rollouts`,
    '-o',
    'ndjson',
    '--fields',
    'question.id',
  );
  const lines = out.split('\n').filter(Boolean);
  return lines.map((line) => JSON.parse(line)['question.id']);
}
const numbers = (count: number) => Array.from({ length: count }, (_, n) => `n-${n}`);

/** Waits until the run has this many trajectories, by following them from here. */
async function produced(name: string, count: number): Promise<void> {
  const follow = ['tap', `${name}.rollouts`, '-f', '--from', 'earliest', '-n', String(count)];
  await until(async () => (await millrace(...follow)).code === 0); // the run may not be there yet
}

describe('the process of a run', () => {
  it('stops gracefully at the first interrupt, exits 0, and goes on when it is run again', async () => {
    const child = start('run', job, '--run', 'stopped', '--set', 'count=200', '--set', 'workMs=50');
    const end = ended(child);
    await produced('stopped', 2);
    const busy = await millrace('run', job, '--run', 'stopped');
    expect(busy.err).toMatch(/LOCKED.*stop it first/);
    expect(busy.code).toBe(1);
    child.kill('SIGINT');
    const first = await end;
    expect(first.err).toMatch(
      /closed hello .*\nstopped; resume with: npx millrace run .*numbers\.job\.ts --run stopped/,
    );
    expect(first.code).toBe(0);
    expect(await recordOf('stopped')).toMatchObject({ status: 'stopped', starts: [{}] });
    expect((await idsOf('stopped')).length).toBeLessThan(200);
    const second = await millrace('run', job, '--run', 'stopped', '--set', 'count=200');
    expect(second.err).toMatch(/resuming run stopped/);
    expect(await idsOf('stopped')).toEqual(numbers(200));
    expect((await recordOf('stopped')).starts).toHaveLength(2);
  });

  it('does not wait for its start, which may be waiting for a server', async () => {
    const child = start('run', 'test/cli/fixtures/waiting.job.ts', '--run', 'waiting');
    const end = ended(child);
    child.stderr!.on('data', (chunk) => {
      if (!/waiting for a server/.test(String(chunk))) return;
      for (const signal of ['SIGTERM', 'SIGINT'] as const) child.kill(signal); // as `timeout` sends one to the process and its group
    });
    const { code, err } = await end;
    expect(err).toMatch(/\nstopped; resume with: /);
    expect(code).toBe(0);
    expect(await recordOf('waiting')).toMatchObject({ status: 'stopped' });
  });

  it('stops at once at the second interrupt, with 130', async () => {
    const child = start('run', job, '--run', 'twice', '--set', 'workMs=30000');
    const end = ended(child);
    child.stderr!.on('data', (chunk) => {
      if (/at work/.test(String(chunk))) child.kill('SIGINT');
      if (/Ctrl-C again/.test(String(chunk))) setTimeout(() => child.kill('SIGINT'), 500);
    });
    expect((await end).code).toBe(130);
  });

  it('may be killed: every trajectory is there once when it has been run again', async () => {
    const child = start('run', job, '--run', 'killed', '--set', 'count=60', '--set', 'workMs=10');
    const end = ended(child);
    await produced('killed', 5);
    child.kill('SIGKILL');
    await end;
    expect((await millrace('run', job, '--run', 'killed')).code).toBe(0);
    expect(await idsOf('killed')).toEqual(numbers(60));
  });
});

test('a tap exits 0 when its reader goes away', async () => {
  await millrace(
    'run',
    job,
    '--run',
    'long',
    '--set',
    'count=200',
    '--set',
    `text=${'x'.repeat(5000)}`,
  );
  const child = start('tap', 'long.rollouts', '-o', 'ndjson');
  child.stdout!.once('data', () => child.stdout!.destroy());
  expect(await once(child, 'exit')).toEqual([0, null]);
});
