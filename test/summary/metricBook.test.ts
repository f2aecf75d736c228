import { describe, expect, it } from '@jest/globals';
import { compareMetrics } from '../../summary/comparison.ts';
import { BUCKETS_MAX, MetricBook } from '../../summary/metricBook.ts';
import { metric } from '../cli/support/records.ts';

describe('the book of metrics', () => {
  it('keeps every step of a short run', () => {
    const book = new MetricBook();
    for (const [step, value] of [
      [0, 1],
      [3, 2],
      [7, 4],
    ] as const) {
      book.add(metric('loss', step, 1, value));
    }
    expect(book.curve('loss').map(({ step, sum, count }) => [step, sum, count])).toEqual([
      [0, 1, 1],
      [3, 2, 1],
      [7, 4, 1],
    ]);
    expect(book.curve('reward/mean')).toEqual([]);
  });

  it('keeps a long run in bounded memory, without losing sums or peaks', () => {
    const book = new MetricBook();
    const steps = 50 * BUCKETS_MAX + 17;
    for (let step = 0; step < steps; step++) {
      book.add(metric('grad_norm', step, 1, step === 4321 ? 1000 : 1));
    }
    const curve = book.curve('grad_norm');
    expect(curve.length).toBeLessThanOrEqual(BUCKETS_MAX);
    expect(curve.length).toBeGreaterThan(BUCKETS_MAX / 2);
    expect(curve.reduce((sum, bucket) => sum + bucket.count, 0)).toBe(steps);
    expect(Math.max(...curve.map(({ max }) => max))).toBe(1000);
    expect(curve.at(-1)!.step).toBe(steps - 1);
    const ascending = curve.map(({ step }) => step);
    expect(ascending).toEqual([...ascending].sort((a, b) => a - b));
  });

  it('keeps its buckets in place while values are added', () => {
    const [book, longer] = [new MetricBook(), new MetricBook()];
    const last = 3 * BUCKETS_MAX;
    for (let step = 0; step <= last; step++) {
      if (step < last) book.add(metric('loss', step, 1, step));
      longer.add(metric('loss', step, 1, step));
    }
    const curve = book.curve('loss');
    expect(longer.curve('loss').slice(0, curve.length - 1)).toEqual(curve.slice(0, -1));
  });

  it('knows the mean of each round, and how many steps it had', () => {
    const book = new MetricBook();
    book.add(metric('loss', 1, 1, 0.5));
    book.add(metric('loss', 2, 1, 1.5));
    book.add(metric('loss', 3, 2, 4));
    expect(book.mean('loss', 1)).toBe(1);
    expect(book.mean('loss', 3)).toBeNull();
    expect(book.means).toEqual([
      { round: 1, name: 'loss', mean: 1, steps: 2, lastStep: 2 },
      { round: 2, name: 'loss', mean: 4, steps: 1, lastStep: 3 },
    ]);
  });
});

it('two runs are compared by round and name, without what measures time', () => {
  const [a, b] = [new MetricBook(), new MetricBook()];
  a.add(metric('loss', 1, 1, 1));
  a.add(metric('time/train_ms', 1, 1, 77));
  b.add(metric('loss', 1, 1, 3));
  b.add(metric('eval/accuracy', 0, 0, 0.5));
  expect(compareMetrics(a, b)).toEqual([
    { round: 0, name: 'eval/accuracy', a: null, b: 0.5 },
    { round: 1, name: 'loss', a: 1, b: 3 },
  ]);
});
