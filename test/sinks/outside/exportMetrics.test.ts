/** Metrics on their way out of the log: each once, in order, whatever exports them and whenever. */
import { describe, expect, test } from '@jest/globals';
import { systemClock } from '../../../base/clock.ts';
import { sleepClock } from '../../../base/sleepClock.ts';
import { advanced, BEGINNING } from '../../../sinks/outside/cursor.ts';
import {
  exportMetrics,
  METRICS_MAX,
  type MetricTarget,
} from '../../../sinks/outside/exportMetrics.ts';
import { gathered } from '../../../sinks/outside/gathered.ts';
import type { Log } from '../../../streams/log.ts';
import { topics } from '../../../topics/index.ts';
import { freshLog } from '../../support/freshLog.ts';
import { impatientClock } from '../../support/impatientClock.ts';
import { memoryTarget } from '../../support/memoryTarget.ts';
import { metric } from '../../support/records.ts';

let log: Log;
freshLog((fresh) => {
  log = fresh;
});

const write = (from: number, to: number): Promise<void> =>
  log.commit((tx) => {
    for (let step = from; step < to; step++) tx.append(topics.metrics, metric({ step }));
  });
const end = { status: 'done', endedMs: 5 } as const;
const never = new AbortController().signal;
const options = (over: AbortSignal | null, stop = never, clock = sleepClock(systemClock)) => ({
  log,
  clock,
  over,
  stop,
  end: async () => end,
});
const steps = (count: number): number[] => Array.from({ length: count }, (_, step) => step);

describe('exported metrics', () => {
  test('of a finished run are exported once', async () => {
    await write(0, 2500);
    const target = memoryTarget();
    expect(await exportMetrics(target, options(null))).toBe(2500);
    expect(target.kept.map(({ value }) => value.step)).toEqual(steps(2500));
    expect(target.ends).toEqual([end]);
    expect(await exportMetrics(target, options(null))).toBe(0);
    await write(2500, 2503);
    expect(await exportMetrics(target, options(null))).toBe(3);
    expect(target.kept.map(({ value }) => value.step)).toEqual(steps(2503));
  });

  test('follow a run until its end, the last ones included', async () => {
    const [target, over] = [memoryTarget(), new AbortController()];
    await write(0, 3);
    const carried = exportMetrics(target, options(over.signal));
    await target.has(3);
    await write(3, 5);
    await target.has(5);
    await write(5, 8);
    over.abort();
    expect(await carried).toBe(8);
    expect(target.kept.map(({ value }) => value.step)).toEqual(steps(8));
  });

  test('stop between two batches when aborted, and resume there', async () => {
    await write(0, 2500);
    const [target, stop] = [memoryTarget(), new AbortController()];
    const stopping: MetricTarget = {
      ...target,
      async write(batch, after, signal) {
        await target.write(batch, after, signal);
        stop.abort();
      },
    };
    const patient = impatientClock(() => true); // a batch waits until it is full
    expect(await exportMetrics(stopping, options(null, stop.signal, patient))).toBe(METRICS_MAX);
    expect(target.ends).toEqual([]);
    expect(await exportMetrics(target, options(null))).toBe(2500 - METRICS_MAX);
    expect(target.kept.map(({ value }) => value.step)).toEqual(steps(2500));
  });
});

test('an export cursor advances in each partition', () => {
  const at = (partition: number, offset: number, atMs: number) => ({
    position: { partition, offset },
    atMs,
  });
  const cursor = advanced(BEGINNING, [at(0, 4, 10), at(1, 0, 30), at(0, 5, 20)]);
  expect(cursor).toEqual({ next: { 0: 6, 1: 1 }, atMs: 30 });
  expect(advanced(cursor, [at(0, 2, 5)])).toEqual(cursor);
});

describe('export batches', () => {
  test('hold what is available up to their size, and are never empty', async () => {
    async function* items() {
      yield* [1, 2, 3, 4, 5];
    }
    const clock = impatientClock(() => true);
    const batches: (readonly number[])[] = [];
    for await (const batch of gathered(items(), { max: 2, waitMs: 1 }, clock)) batches.push(batch);
    expect(batches).toEqual([[1, 2], [3, 4], [5]]);
  });

  test('wait only for what is to come soon, and fail as their items do', async () => {
    let arrive = (): void => undefined;
    async function* items() {
      yield 1;
      await new Promise<void>((resolve) => {
        arrive = resolve;
      });
      yield 2;
      throw new Error('the log is gone');
    }
    const batches = gathered(items(), { max: 10, waitMs: 1 }, impatientClock());
    expect((await batches.next()).value).toEqual([1]);
    arrive();
    expect((await batches.next()).value).toEqual([2]);
    await expect(batches.next()).rejects.toThrow('the log is gone');
  });
});
