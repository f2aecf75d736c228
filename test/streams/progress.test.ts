import { expect, test } from '@jest/globals';
import { draws } from '../../base/draws.ts';
import { Progress } from '../../streams/progress.ts';

test('the low-water mark of progress rises when a gap closes, and takes in the stretch above it', () => {
  const progress = new Progress();
  for (const offset of [2, 1, 4]) progress.settle(offset);
  expect(progress.toState()).toEqual({
    low: 0,
    above: [
      [1, 3],
      [4, 5],
    ],
  });
  progress.settle(0);
  expect(progress.toState()).toEqual({ low: 3, above: [[4, 5]] });
  expect([0, 2, 3, 4, 5].map((offset) => progress.has(offset))).toEqual([
    true,
    true,
    false,
    true,
    false,
  ]);
});

test('progress settles an offset once', () => {
  const progress = new Progress({ low: 3, above: [[5, 6]] });
  expect([2, 5, 4].map((offset) => progress.settle(offset))).toEqual([false, false, true]);
  expect(progress.settled).toBe(5);
});

test('progress in a random order ends in a mark and nothing above it', () => {
  const random = draws('progress');
  const order = Array.from({ length: 200 }, (_, i) => i)
    .map((offset) => ({ offset, place: random.uniform(offset) }))
    .sort((a, b) => a.place - b.place);
  let progress = new Progress();
  for (const [i, { offset }] of order.entries()) {
    progress.settle(offset);
    expect(progress.settled).toBe(i + 1);
    if (i % 7 === 0) progress = new Progress(progress.toState());
  }
  expect(progress.toState()).toEqual({ low: 200, above: [] });
});

test('progress above a record that is held is one stretch, however long it is held', () => {
  const progress = new Progress();
  for (let offset = 1; offset < 10_000; offset++) progress.settle(offset);
  expect(progress.toState()).toEqual({ low: 0, above: [[1, 10_000]] });
  progress.settle(0);
  expect(progress.toState()).toEqual({ low: 10_000, above: [] });
});

test('progress reads the state of an older log, with each offset by itself', () => {
  const progress = new Progress({ low: 2, above: [3, 4, 7] });
  expect(progress.settled).toBe(5);
  expect(progress.toState()).toEqual({
    low: 2,
    above: [
      [3, 5],
      [7, 8],
    ],
  });
});

test('a copy of progress changes independently', () => {
  const progress = new Progress({ low: 1, above: [] });
  progress.copy().settle(1);
  expect(progress.settled).toBe(1);
});
