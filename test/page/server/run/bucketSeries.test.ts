import { describe, expect, test } from '@jest/globals';
import { type Bucket, BucketSeries, merged } from '../../../../page/server/run/bucketSeries.ts';

/** Values that go up and down, the same at every run. */
function valueAt(step: number): number {
  return Math.sin(step * 12.9898) * 43758.5453 - Math.floor(Math.sin(step * 12.9898) * 43758.5453);
}

function filled(steps: number, bucketsMax: number): BucketSeries {
  const series = new BucketSeries(bucketsMax);
  for (let step = 1; step <= steps; step++) {
    series.add({ step, atMs: 1000 * step, tokens: 10 * step, value: valueAt(step) });
  }
  return series;
}

const all = [Number.NEGATIVE_INFINITY, Number.POSITIVE_INFINITY] as const;

describe('a series', () => {
  test('of more steps than it has buckets holds the minimum, maximum, sum and count of the steps of each', () => {
    const series = filled(1000, 16);
    const { buckets, width } = series.between(...all, 16);
    expect(width).toBe(64);
    expect(buckets).toHaveLength(16);
    for (const { step, lastStep, min, max, sum, count, atMs, tokens } of buckets) {
      const values = Array.from({ length: lastStep - step + 1 }, (_, i) => valueAt(step + i));
      expect(min).toBe(Math.min(...values));
      expect(max).toBe(Math.max(...values));
      expect(sum).toBeCloseTo(
        values.reduce((a, b) => a + b, 0),
        9,
      );
      expect({ count, atMs, tokens }).toEqual({
        count: values.length,
        atMs: 1000 * lastStep,
        tokens: 10 * lastStep,
      });
    }
  });

  test('keeps its buckets where they are as values are appended, until they merge in pairs', () => {
    const before = filled(60, 64).between(...all, 64).buckets;
    const after = filled(64, 64).between(...all, 64).buckets;
    expect(after.slice(0, before.length)).toEqual(before);
    const halved = filled(65, 64).between(...all, 64);
    expect(halved.width).toBe(2);
    expect(halved.buckets.map(({ step }) => Math.floor(step / 2))).toEqual(
      Array.from({ length: 33 }, (_, i) => i),
    );
  });

  test('is the same whatever the order of its values', () => {
    const steps = Array.from({ length: 300 }, (_, i) => (i * 7) % 300);
    const series = new BucketSeries(32);
    for (const step of steps) series.add({ step, atMs: 0, tokens: 0, value: step % 5 });
    const sorted = new BucketSeries(32);
    for (const step of [...steps].sort((a, b) => a - b)) {
      sorted.add({ step, atMs: 0, tokens: 0, value: step % 5 });
    }
    expect(series.between(...all, 32)).toEqual(sorted.between(...all, 32));
  });

  test('counts values that no axis can show, and says where they were', () => {
    const series = new BucketSeries();
    for (const [step, value] of [1, Number.NaN, 2, Number.POSITIVE_INFINITY].entries()) {
      series.add({ step, atMs: 0, tokens: 0, value });
    }
    expect(series).toMatchObject({ odd: 2, oddSteps: [1, 3], count: 2, last: 2 });
    expect(series.between(...all, 10).buckets).toHaveLength(2);
  });

  test('gives a part in fewer buckets on request', () => {
    const { buckets, width } = filled(1000, 4096).between(100, 500, 50);
    expect(width).toBe(16);
    expect(buckets.length).toBeLessThanOrEqual(50);
    expect(buckets.reduce((sum, { count }) => sum + count, 0)).toBe(401);
  });
});

test('buckets of a series merge in any grouping', () => {
  const bucket = (step: number, value: number): Bucket => {
    return {
      step,
      lastStep: step,
      atMs: step,
      tokens: step,
      min: value,
      max: value,
      sum: value,
      count: 1,
    };
  };
  const [a, b, c] = [bucket(1, 5), bucket(2, -3), bucket(3, 4)];
  expect(merged(merged(a, b), c)).toEqual(merged(a, merged(b, c)));
  expect(merged(a, b)).toEqual(merged(b, a));
});
