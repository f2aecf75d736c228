import { describe, expect, test } from '@jest/globals';
import { draws } from '../../../base/draws.ts';
import { meanInterval } from '../../../operators/metrics/interval.ts';

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

  test('holds the true mean about as often as it says', () => {
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

  test('is the mean where there is nothing to draw', () => {
    expect(meanInterval([], { seed: 1 })).toEqual({ low: 0, high: 0 });
    expect(meanInterval([0.5], { seed: 1 })).toEqual({ low: 0.5, high: 0.5 });
  });
});
