import { expect, test } from '@jest/globals';
import type { Log } from '../../streams/log.ts';
import { reportStatus, type WorkerStatus } from '../../streams/run/workerStatus.ts';

const who = { worker: 'main', host: 'here', pid: 7, startedMs: 5, memoryBytes: () => 1024 };
const stats = (atMs: number) => ({ atMs, sources: [], stages: [] });
const boardOf = (post: (said: WorkerStatus) => Promise<void>): Log =>
  ({ post: (said: unknown) => post(said as WorkerStatus) }) as unknown as Log;
const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

test('the status of a process says who it is, what it does, and when it is its last', async () => {
  const said: WorkerStatus[] = [];
  const reporter = reportStatus(
    boardOf(async (status) => void said.push(status)),
    who,
  );
  reporter.onStats(stats(10));
  await turn();
  reporter.onStats(stats(20));
  await reporter.end();
  const common = { worker: 'main', host: 'here', pid: 7, startedMs: 5, memoryBytes: 1024 };
  expect(said).toEqual([
    { ...common, ...stats(10), ended: false },
    { ...common, ...stats(20), ended: false },
    { ...common, ...stats(20), ended: true },
  ]);
});

test('a worker keeps at most one status waiting for a log that does not answer', async () => {
  let begun = 0;
  let answer = (): void => undefined;
  const reporter = reportStatus(
    boardOf(() => {
      begun += 1;
      return new Promise((resolve) => {
        answer = resolve;
      });
    }),
    who,
  );
  for (let i = 0; i < 5; i++) reporter.onStats(stats(i));
  await turn();
  expect(begun).toBe(1);
  answer();
  await turn();
  reporter.onStats(stats(9));
  expect(begun).toBe(2);
});

test('a worker ignores a log that cannot take its status', async () => {
  const failing = reportStatus(
    boardOf(async () => {
      throw new Error('full disk');
    }),
    who,
  );
  failing.onStats(stats(1));
  await failing.end();
  const none = reportStatus({} as Log, who);
  none.onStats(stats(1));
  await none.end();
});
