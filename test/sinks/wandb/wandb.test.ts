/**
 * Offline runs of Weights & Biases: what its own program reads in them, and that a start goes on where the
 * last whole batch ends.
 */
import { readdirSync, readFileSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { systemClock } from '../../../base/clock.ts';
import { sleepClock } from '../../../base/sleepClock.ts';
import { exportMetrics, type RunAbout, type RunEnd } from '../../../sinks/outside/exportMetrics.ts';
import { fieldsOf } from '../../../sinks/outside/proto.ts';
import { FILE_HEAD, framed, KIND, recordsIn } from '../../../sinks/wandb/runFile.ts';
import { wandb } from '../../../sinks/wandb/wandb.ts';
import type { Log } from '../../../streams/log.ts';
import { topics } from '../../../topics/index.ts';
import { temporaryFolder } from '../../support/folder.ts';
import { freshLog } from '../../support/freshLog.ts';
import { yardstick } from '../../support/python.ts';
import { metric } from '../../support/records.ts';

let log: Log;
freshLog((fresh) => {
  log = fresh;
});
let folder: ReturnType<typeof temporaryFolder>;
beforeEach(() => {
  folder = temporaryFolder();
});
afterEach(() => folder.remove());

const about: RunAbout = {
  run: 'first',
  job: 'numbers',
  seed: 7,
  millrace: '0.1.0',
  startedMs: 1_700_000_000_500,
  settings: { lr: 0.1, kl: { kind: 'k3' }, long: 'ö'.repeat(70_000) },
};
const write = (...steps: readonly number[]): Promise<void> =>
  log.commit((tx) => {
    for (const step of steps) {
      tx.append(topics.metrics, metric({ name: 'reward/mean', step, value: step / 10 }));
      tx.append(topics.metrics, metric({ name: 'loss', step, value: Number.NaN }));
    }
  });

function carry(status: RunEnd['status'] = 'done', over: Partial<RunAbout> = {}): Promise<number> {
  return exportMetrics(wandb({ ...about, ...over }, folder.path), {
    log,
    clock: sleepClock(systemClock),
    over: null,
    stop: new AbortController().signal,
    end: async () => ({ status, endedMs: 5 }),
  });
}

const file = (): string => {
  const [run] = readdirSync(join(folder.path, 'wandb')) as [string];
  const [name] = readdirSync(join(folder.path, 'wandb', run)) as [string];
  return join(folder.path, 'wandb', run, name);
};
/** Kinds of the records, h = a row. */
const kinds = (): string => {
  const letters = { [KIND.header]: 'H', [KIND.run]: 'R', [KIND.metric]: 'M', [KIND.history]: 'h' };
  const all: Record<number, string> = { ...letters, [KIND.summary]: 's', [KIND.exit]: 'x' };
  return [...recordsIn(readFileSync(file()))]
    .map(({ record }) => {
      const { bytes } = fieldsOf(record);
      return Object.keys(all).find((kind) => bytes.has(Number(kind)));
    })
    .map((kind) => all[Number(kind)] ?? '?')
    .join('');
};

describe('records', () => {
  test.each([0, 1, 32_760, 32_761, 32_768, 100_000])(
    'of %d bytes come back whole, whatever the block they begin in',
    (length) => {
      const bodies = [Buffer.alloc(length, 1), Buffer.alloc(5, 2), Buffer.alloc(length, 3)];
      let bytes = FILE_HEAD;
      for (const body of bodies) bytes = Buffer.concat([bytes, framed(body, bytes.length)]);
      const read = [...recordsIn(bytes)];
      expect(read.map(({ record }) => record.toString('latin1'))).toEqual(
        bodies.map((body) => body.toString('latin1')),
      );
      expect(read.at(-1)!.end).toBe(bytes.length);
    },
  );
});

describe('an offline run', () => {
  test('has rows by step, and is continued in the same file before its end record', async () => {
    await write(1, 2);
    expect(await carry()).toBe(4);
    expect(kinds()).toBe('HRMhhsx');
    expect(await carry()).toBe(0);
    expect(kinds()).toBe('HRMhhsx');
    await write(3);
    expect(await carry('running')).toBe(2);
    expect(kinds()).toBe('HRMhhshs');
    await carry('failed', { startedMs: 5 });
    expect(readdirSync(join(folder.path, 'wandb'))).toHaveLength(2);
  });

  test('that a crash cut short is cut back to its last whole batch', async () => {
    await write(1, 2);
    await carry();
    await write(3);
    await carry('running');
    const whole = readFileSync(file());
    truncateSync(file(), whole.length - 3);
    expect(await carry('running')).toBe(2);
    expect(readFileSync(file()).equals(whole)).toBe(true);
    writeFileSync(file(), whole.subarray(0, 1000));
    expect(await carry('running')).toBe(6);
    expect(kinds()).toBe('HRMhhhs');
  });
});

yardstick(['wandb'])("W&B's own messages have every value of it", async (python) => {
  await write(1);
  await carry();
  await write(2);
  await carry();
  const read = python.run('test/sinks/wandb/read.py', file()) as {
    readonly run: Readonly<Record<string, unknown>>;
    readonly history: readonly Readonly<Record<string, unknown>>[];
  };
  expect(read.run).toMatchObject({
    display_name: 'first',
    project: 'millrace',
    start: 1_700_000_000.5,
    config: { lr: 0.1, kl: { kind: 'k3' }, job: 'numbers', seed: 7 },
  });
  expect(read.history).toMatchObject([
    { _step: 0, step: 1, 'reward/mean': 0.1, loss: 'NaN' },
    { _step: 1, step: 2, 'reward/mean': 0.2, loss: 'NaN' },
  ]);
});
