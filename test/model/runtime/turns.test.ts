import { expect, test } from '@jest/globals';
import { startWorker, workerEntry } from '../../../base/worker.ts';
import { Turns } from '../../../model/runtime/turns.ts';

test('threads that take turns never work at the same time', async () => {
  const argument = {
    shared: new SharedArrayBuffer(4),
    number: new SharedArrayBuffer(4),
    times: 300,
  };
  const workers = Array.from({ length: 3 }, () =>
    startWorker(workerEntry('turnsWorker', import.meta.url)),
  );
  await Promise.all(workers.map((worker) => worker.call('count', argument)));
  expect(new Int32Array(argument.number)[0]).toBe(900);
  await Promise.all(workers.map((worker) => worker.close()));
});

test('turns within a thread come in order, and a failed one does not block the next', async () => {
  const turns = new Turns(new SharedArrayBuffer(4));
  const done: number[] = [];
  const failed = turns.take(async () => {
    throw new Error('no');
  });
  const rest = [1, 2].map((number) => turns.take(async () => done.push(number)));
  await expect(failed).rejects.toThrow('no');
  await Promise.all(rest);
  expect(done).toEqual([1, 2]);
});
