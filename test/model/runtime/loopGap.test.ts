import { expect, test } from '@jest/globals';
import { watchLoop } from '../../../model/runtime/loopGap.ts';
import { until } from '../../support/until.ts';

/** A clock that stands still until advanced, so that nothing depends on how busy the machine is. */
function clock() {
  let atMs = 0;
  let reads = 0;
  return {
    now: () => {
      reads += 1;
      return atMs;
    },
    pass: (ms: number) => {
      atMs += ms;
    },
    /** Resolves once the clock has been read again: the timer has beaten. */
    read: () => {
      const before = reads;
      return until(() => reads > before);
    },
  };
}

test('an event loop that stood still shows as a gap, once', async () => {
  const { now, pass, read } = clock();
  const loop = watchLoop(now);
  pass(110);
  await read();
  expect(loop.take()).toBe(100);
  await read();
  expect(loop.take()).toBe(0);
  loop.stop();
});

test('a gap of the event loop counts before any timer has seen it, without the interval itself', () => {
  const { now, pass } = clock();
  const loop = watchLoop(now);
  pass(60);
  expect(loop.take()).toBe(50);
  pass(10);
  expect(loop.take()).toBe(0);
  loop.stop();
});
