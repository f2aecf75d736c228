import { describe, expect, test } from '@jest/globals';
import { draws } from '../../../base/draws.ts';
import {
  numberDifference,
  shareDifference,
  squareAndAdd,
} from '../../../operators/metrics/difference.ts';
import { meanInterval, wilsonInterval } from '../../../operators/metrics/interval.ts';

const ones = (right: number, of: number): number[] =>
  Array.from({ length: of }, (_, i) => (i < right ? 1 : 0));
/** The same shares in such an order that the two are not correlated. */
const crossed = (a: number, b: number, n: number) => {
  const before: number[] = [];
  const after: number[] = [];
  for (let i = 0; i < n; i++) {
    for (let j = 0; j < n; j++) {
      before.push(i < a ? 1 : 0);
      after.push(j < b ? 1 : 0);
    }
  }
  return { before, after };
};
const seeded = { seed: 1 };

describe('the interval of a difference of shares', () => {
  test("has Newcombe's known value for 56 of 70 against 48 of 80", () => {
    const share = (right: number, of: number) => ({
      mean: right / of,
      interval: wilsonInterval(right / of, of),
    });
    const { low, high } = squareAndAdd(share(48, 80), share(56, 70), 0);
    expect([low, high]).toEqual([expect.closeTo(0.0524, 4), expect.closeTo(0.3339, 4)]);
  });

  test('is that of independent shares if the pairs are not correlated', () => {
    const { low, high } = shareDifference(crossed(6, 4, 8), seeded);
    expect([low, high]).toEqual([expect.closeTo(-0.3991, 4), expect.closeTo(-0.0823, 4)]);
  });

  test('is narrower if the same questions are easy twice, and wider otherwise', () => {
    const width = ({ low, high }: { low: number; high: number }): number => high - low;
    const [before, after] = [ones(40, 100), ones(60, 100)];
    const same = shareDifference({ before, after }, seeded);
    const other = shareDifference({ before, after: after.toReversed() }, seeded);
    expect(width(same)).toBeLessThan(width(other));
    for (const { low, high } of [same, other]) {
      expect(low).toBeLessThan(0.2);
      expect(high).toBeGreaterThan(0.2);
    }
  });

  test('agrees with the bootstrap over pairs if there are many questions', () => {
    const { uniform } = draws(3, 'pairs');
    const pairs = Array.from({ length: 2000 }, (_, i) => {
      const easy = uniform(3 * i);
      return [
        uniform(3 * i + 1) < easy ? 1 : 0,
        uniform(3 * i + 2) < Math.sqrt(easy) ? 1 : 0,
      ] as const;
    });
    const before = pairs.map(([b]) => b);
    const after = pairs.map(([, a]) => a);
    const interval = shareDifference({ before, after }, seeded);
    const bootstrap = meanInterval(
      pairs.map(([b, a]) => a - b),
      seeded,
    );
    expect(Math.abs(interval.low - bootstrap.low)).toBeLessThan(0.006);
    expect(Math.abs(interval.high - bootstrap.high)).toBeLessThan(0.006);
  });

  test('has a width even if all are right twice, and stays within −1 to 1', () => {
    const all = shareDifference({ before: ones(8, 8), after: ones(8, 8) }, seeded);
    expect([all.low, all.high]).toEqual([expect.closeTo(-0.3244, 4), expect.closeTo(0.3244, 4)]);
    const most = shareDifference({ before: [0, 0], after: [1, 1] }, seeded);
    expect(most.high).toBeLessThanOrEqual(1);
    expect(most.low).toBeLessThan(1);
  });
});

test('the interval of a difference of numbers is the bootstrap over the questions’ differences', () => {
  const interval = numberDifference({ before: [1, 5, 3], after: [2, 7, 3] }, { seed: 4 });
  expect(interval).toEqual(meanInterval([1, 2, 0], { seed: 4 }));
  expect(interval.low).toBeGreaterThanOrEqual(0);
});
