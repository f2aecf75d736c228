import { expect, test } from '@jest/globals';
import { watchLoop } from '../../../model/runtime/loopGap.ts';

/** A clock that stands until told otherwise, so that nothing depends on how busy the machine is. */
function clock() {
  let atMs = 0;
  const pass = (ms: number) => {
    atMs += ms;
  };
  return { now: () => atMs, pass };
}
const beats = () => new Promise((resolve) => setTimeout(resolve, 40));

test('an event loop that stood still shows as a gap, once', async () => {
  const { now, pass } = clock();
  const loop = watchLoop(now);
  pass(110);
  await beats();
  expect(loop.take()).toBe(100);
  await beats();
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
