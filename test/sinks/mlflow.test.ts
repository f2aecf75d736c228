/**
 * The metrics of a run on an MLflow server: one run there, each metric once, whatever the server and we go
 * through.
 */
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { systemClock } from '../../base/clock.ts';
import { sleepClock } from '../../base/sleepClock.ts';
import { mlflow } from '../../sinks/mlflow/mlflow.ts';
import { mlflowName, mlflowNumber, paramsOf } from '../../sinks/mlflow/names.ts';
import { exportMetrics, type RunAbout, type RunEnd } from '../../sinks/outside/exportMetrics.ts';
import { PatientClient } from '../../sinks/outside/patientClient.ts';
import type { Log } from '../../streams/log.ts';
import { topics } from '../../topics/index.ts';
import { freshLog } from '../support/freshLog.ts';
import { type ImpatientClock, impatientClock } from '../support/impatientClock.ts';
import { type MlflowServer, mlflowServer } from '../support/mlflowServer.ts';
import { metric } from '../support/records.ts';

let log: Log;
freshLog((fresh) => {
  log = fresh;
});
let server: MlflowServer;
let clock: ImpatientClock;
let told: string[];
beforeEach(async () => {
  server = await mlflowServer();
  // Time limits of requests last; waits between tries are over at once.
  clock = impatientClock((ms) => ms === 60_000);
  told = [];
});
afterEach(() => server.close());

const about: RunAbout = {
  run: 'first',
  job: 'numbers',
  seed: 7,
  millrace: '0.1.0',
  startedMs: 1_700_000_000_000,
  settings: { lr: 0.1, kl: { kind: 'k3', 'odd key!': [1, 2] }, note: 'x'.repeat(7000) },
};

const write = (count: number): Promise<void> =>
  log.commit((tx) => {
    for (let step = 0; step < count; step++) {
      tx.append(topics.metrics, metric({ name: 'eval/pass@4', step, value: step }));
    }
  });

interface Carrying {
  readonly about?: Partial<RunAbout>;
  readonly patienceMs?: number;
  readonly end?: RunEnd;
}

function carry({ about: over, patienceMs = 1e9, end = ended }: Carrying = {}): Promise<number> {
  const client = new PatientClient({
    what: 'MLflow',
    url: server.url,
    headers: {},
    clock,
    notice: (line) => void told.push(line.replace(server.url, 'URL')),
    patienceMs,
  });
  const target = mlflow({ ...about, ...over }, { client, experiment: 'millrace' });
  const options = {
    log,
    clock: sleepClock(systemClock),
    over: null,
    stop: new AbortController().signal,
    end: async () => end,
  };
  return exportMetrics(target, options).finally(() => client.close());
}

const ended: RunEnd = { status: 'done', endedMs: 1_700_000_009_000 };
const stepsOf = (at = 0): number[] => server.runs[at]!.metrics.map(({ step }) => step);
const steps = (count: number): number[] => Array.from({ length: count }, (_, step) => step);

describe('MLflow', () => {
  test('gets one run with settings, metrics and final status, and a resumed run continues it', async () => {
    await write(1200);
    expect(await carry({ end: { status: 'running', endedMs: null } })).toBe(1200);
    const [run] = server.runs as [(typeof server.runs)[0]];
    expect(run).toMatchObject({ name: 'first', status: 'RUNNING', endMs: null });
    expect(run.params.get('kl.kind')).toBe('k3');
    expect(run.params.get('kl.odd key_')).toBe('[1,2]');
    expect(run.params.get('note')).toHaveLength(6000);
    expect(run.metrics[3]).toMatchObject({ key: 'eval/pass_at_4', value: 3, step: 3 });
    await write(5);
    expect(await carry()).toBe(5);
    expect(server.runs).toHaveLength(1);
    expect(stepsOf()).toEqual([...steps(1200), ...steps(5)]);
    expect(run).toMatchObject({ status: 'FINISHED', endMs: ended.endedMs });
    expect(await carry({ end: { status: 'failed', endedMs: 7 } })).toBe(0);
    expect(run.status).toBe('FAILED');
  });

  test('is waited for if it is down, and gets nothing twice after a lost reply', async () => {
    await write(700);
    server.mischief.push('busy', 'busy');
    await carry();
    server.mischief.length = 0;
    expect(told).toEqual([
      'MLflow at URL does not answer (503: starting); retrying',
      'MLflow at URL answers again',
    ]);
    expect(clock.sleeps.slice(0, 2)).toEqual([1000, 2000]);
    await write(300);
    // Found, searched, made running again; then the metrics, whose reply is lost.
    server.mischief.push(...(Array(3).fill(undefined) as 'busy'[]), 'lost');
    await carry();
    expect(server.asked.filter((path) => path === 'runs/log-batch')).toHaveLength(1 + 2 + 2);
    expect(stepsOf()).toEqual([...steps(700), ...steps(300)]);
  });

  test('ends the export of a finished run if it stays down, and is resumed later', async () => {
    await write(3);
    server.mischief.push(...(Array(40).fill('busy') as 'busy'[]));
    await expect(carry({ patienceMs: 120_000 })).rejects.toMatchObject({ code: 'AWAY' });
    server.mischief.length = 0;
    expect(await carry()).toBe(3);
  });

  test('gets a new run for one that was started over', async () => {
    await write(3);
    await carry();
    expect(await carry({ about: { startedMs: 5 } })).toBe(3);
    expect([stepsOf(0), stepsOf(1)]).toEqual([steps(3), steps(3)]);
  });

  test('has its refusal reported in its words, and is not asked again', async () => {
    await write(1);
    server.mischief.push('denied');
    await expect(carry()).rejects.toMatchObject({
      code: 'REFUSED',
      message: expect.stringMatching(
        /refused .*get-by-name.* with 401 \(check the credentials\): who are you\?/,
      ),
    });
    expect(server.asked).toEqual([]);
  });

  test('has every metric once even if someone changed our tags', async () => {
    await write(2);
    await carry();
    server.runs[0]!.tags.set('millrace.cursor', 'spoilt');
    server.runs[0]!.params.delete('lr');
    expect(await carry()).toBe(2);
    expect(stepsOf()).toEqual([0, 1]);
    expect(server.runs[0]!.params.get('lr')).toBe('0.1');
  });
});

test('names and numbers are converted to what MLflow accepts', () => {
  expect(mlflowName('eval/größe?/../x//y')).toBe('eval/gr__e_/x/y');
  expect(mlflowName('/')).toBe('_');
  expect([1.5, Number.NaN, Infinity, -Infinity].map(mlflowNumber)).toEqual([
    1.5,
    'NaN',
    'Infinity',
    '-Infinity',
  ]);
  expect(paramsOf({ a: { b: { c: null } }, d: [] })).toEqual([
    { key: 'a.b.c', value: 'null' },
    { key: 'd', value: '[]' },
  ]);
});

const real = process.env.MILLRACE_MLFLOW ?? '';
(real === '' ? test.skip : test)(
  `a real server takes it all${real === '' ? ' (skipped: name one in MILLRACE_MLFLOW)' : ''}`,
  async () => {
    await log.commit((tx) => {
      const values = [1, Number.NaN, Number.POSITIVE_INFINITY, 2];
      for (const [step, value] of values.entries()) {
        tx.append(topics.metrics, metric({ name: 'eval/größe@4', step, value }));
      }
    });
    const client = new PatientClient({
      what: 'MLflow',
      url: real,
      headers: {},
      clock: sleepClock(systemClock),
      notice: (line) => void told.push(line),
      patienceMs: 10_000,
    });
    const ask = async (path: string) => {
      const reply = await fetch(`${real}/api/2.0/mlflow/${path}`);
      return (await reply.json()) as { metrics: { step?: number; value: number | string }[] };
    };
    const name = `jest-${systemClock.now()}`;
    let runId = '';
    for (const count of [4, 0]) {
      const target = mlflow({ ...about, run: name }, { client, experiment: 'millrace-tests' });
      const options = { log, clock: sleepClock(systemClock), over: null };
      const stop = new AbortController().signal;
      expect(await exportMetrics(target, { ...options, stop, end: async () => ended })).toBe(count);
      runId = target.where().split('/').at(-1)!;
    }
    client.close();
    const key = encodeURIComponent('eval/gr__e_at_4');
    const { metrics } = await ask(`metrics/get-history?run_id=${runId}&metric_key=${key}`);
    expect(metrics).toHaveLength(4);
    expect(metrics[3]).toMatchObject({ step: 3, value: 2 });
  },
);
