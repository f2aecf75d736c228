import { describe, expect, test } from '@jest/globals';
import { draws } from '../../../base/draws.ts';
import {
  meanInterval,
  ratioDifference,
  ratioInterval,
  shareInterval,
  wilsonInterval,
} from '../../../operators/metrics/interval.ts';

describe('the interval of a mean', () => {
  test('is about as wide as the normal one, and the same every time', () => {
    const values = Array.from({ length: 400 }, (_, i) => (i % 4 === 0 ? 1 : 0));
    const { low, high } = meanInterval(values, { seed: 1 });
    const error = 1.96 * Math.sqrt((0.25 * 0.75) / 400);
    expect(low).toBeGreaterThan(0.25 - 1.3 * error);
    expect(low).toBeLessThan(0.25 - 0.7 * error);
    expect(high).toBeLessThan(0.25 + 1.3 * error);
    expect(high).toBeGreaterThan(0.25 + 0.7 * error);
    expect(meanInterval(values, { seed: 1 })).toEqual({ low, high });
  });

  test('contains the true mean about as often as it claims', () => {
    const stream = draws('coverage');
    let held = 0;
    for (let trial = 0; trial < 80; trial++) {
      const values = Array.from({ length: 40 }, (_, i) => stream.uniform(trial * 40 + i));
      const { low, high } = meanInterval(values, { seed: trial });
      if (low <= 0.5 && 0.5 <= high) held++;
    }
    expect(held / 80).toBeGreaterThan(0.86);
    expect(held / 80).toBeLessThan(1);
  });

  test('is wider at a higher level', () => {
    const values = Array.from({ length: 50 }, (_, i) => i);
    const at = (level: number) => meanInterval(values, { seed: 3, level });
    expect(at(0.99).high - at(0.99).low).toBeGreaterThan(at(0.8).high - at(0.8).low);
  });

  test('is the mean if there is nothing to resample', () => {
    expect(meanInterval([], { seed: 1 })).toEqual({ low: 0, high: 0 });
    expect(meanInterval([0.5], { seed: 1 })).toEqual({ low: 0.5, high: 0.5 });
  });
});

describe('the interval of a share', () => {
  test("is Wilson's: the known value for 8 of 8, and open to one side only at the ends", () => {
    const all = wilsonInterval(1, 8);
    expect(all.high).toBe(1);
    expect(all.low).toBeCloseTo(0.6756, 4);
    const none = wilsonInterval(0, 8);
    expect(none.low).toBe(0);
    for (let count = 1; count < 50; count++) {
      expect(wilsonInterval(0, count).low).toBe(0);
      expect(wilsonInterval(1, count).high).toBe(1);
    }
    expect(none.high).toBeCloseTo(1 - all.low, 12);
    const some = wilsonInterval(0.3, 10);
    expect([some.low, some.high]).toEqual([expect.closeTo(0.1078, 4), expect.closeTo(0.6032, 4)]);
    expect(wilsonInterval(0, 0)).toEqual({ low: 0, high: 1 });
  });

  test('has ends that solve |p − share| = z √(p (1 − p) / n)', () => {
    for (const [share, count] of [
      [0.9, 150],
      [0.5, 3],
      [0.04, 25],
    ] as const) {
      const { low, high } = wilsonInterval(share, count);
      for (const p of [low, high]) {
        const z = Math.abs(p - share) / Math.sqrt((p * (1 - p)) / count);
        expect(z).toBeCloseTo(1.959964, 5);
      }
    }
  });

  test('is the bootstrap if questions are partly right', () => {
    const parts = [0.25, 0.5, 1, 0.75, 0];
    expect(shareInterval(parts, { seed: 4 })).toEqual(meanInterval(parts, { seed: 4 }));
    expect(shareInterval([1, 0, 1, 1], { seed: 4 })).toEqual(wilsonInterval(0.75, 4));
    expect(shareInterval([0.5, 0.5], { seed: 4 })).toEqual(wilsonInterval(0.5, 2));
  });
});

describe('the interval of a mean over what only some questions have', () => {
  const stream = draws('ratios');
  /** 40 questions; each has 0 to 3 of it, with values around 2. */
  const parts = (trial: number) =>
    Array.from({ length: 40 }, (_, i) => {
      const count = Math.floor(4 * stream.uniform(trial * 400 + i));
      let sum = 0;
      for (let j = 0; j < count; j++) sum += 4 * stream.uniform(trial * 400 + 40 + 4 * i + j);
      return { sum, count };
    });

  test('contains the true mean about as often as it claims', () => {
    let held = 0;
    for (let trial = 0; trial < 80; trial++) {
      const { low, high } = ratioInterval(parts(trial), { seed: trial })!;
      if (low <= 2 && 2 <= high) held++;
    }
    expect(held / 80).toBeGreaterThan(0.86);
    expect(held / 80).toBeLessThan(1);
  });

  test('is that of the mean if each question has one', () => {
    const values = Array.from({ length: 30 }, (_, i) => stream.uniform(90_000 + i));
    const ones = values.map((sum) => ({ sum, count: 1 }));
    expect(ratioInterval(ones, { seed: 5 })).toEqual(meanInterval(values, { seed: 5 }));
  });

  test('of a difference is narrower if the questions are the same', () => {
    const before = parts(99);
    const after = before.map(({ sum, count }) => ({ sum: sum + count, count }));
    const { low, high } = ratioDifference({ before, after }, { seed: 1 })!;
    expect([low, high]).toEqual([expect.closeTo(1), expect.closeTo(1)]);
  });

  test('is absent if no question has it', () => {
    const none = [{ sum: 0, count: 0 }];
    expect(ratioInterval([], { seed: 1 })).toBeNull();
    expect(ratioInterval(none, { seed: 1 })).toBeNull();
    expect(
      ratioDifference({ before: none, after: [{ sum: 1, count: 1 }] }, { seed: 1 }),
    ).toBeNull();
  });
});
