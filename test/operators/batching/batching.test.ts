import { describe, expect, test } from '@jest/globals';
import { learningRateFactor, roundRate } from '../../../operators/batching/learningRate.ts';
import { batch } from '../../support/records.ts';

describe('learningRateFactor', () => {
  test('warms up, then stays', () => {
    const schedule = { kind: 'constant', warmupSteps: 4 } as const;
    expect([0, 1, 4, 99].map((step) => learningRateFactor(schedule, step))).toEqual([
      0, 0.25, 1, 1,
    ]);
  });

  test('falls along half a wave to its floor', () => {
    const schedule = { kind: 'cosine', warmupSteps: 0, totalSteps: 10, minRatio: 0.1 } as const;
    expect(learningRateFactor(schedule, 0)).toBe(1);
    expect(learningRateFactor(schedule, 5)).toBeCloseTo(0.55, 12);
    expect(learningRateFactor(schedule, 10)).toBeCloseTo(0.1, 12);
  });
});

describe('roundRate', () => {
  const options = { lr: 2, schedule: 'cosine', warmupRatio: 0.15, minRatio: 0.1 } as const;
  const rates = (of: number, rate: ReturnType<typeof roundRate>): number[] =>
    Array.from({ length: of }, (_, index) => rate(batch({ index, of })));

  test('is the reference’s, at the start of each step, if requested', () => {
    const schedule = { kind: 'cosine', warmupSteps: 2, totalSteps: 10, minRatio: 0.1 } as const;
    expect(rates(10, roundRate({ ...options, mode: 'reference' }))).toEqual(
      Array.from({ length: 10 }, (_, step) => 2 * learningRateFactor(schedule, step)),
    );
  });

  test('gives every step of a round something to learn, the first and the last too', () => {
    for (const steps of [1, 2, 3, 50]) {
      const made = rates(steps, roundRate({ ...options, minRatio: 0 }));
      expect(Math.min(...made)).toBeGreaterThan(0);
      expect(Math.max(...made)).toBeLessThanOrEqual(2);
    }
  });

  test('rises, then falls', () => {
    const made = rates(20, roundRate(options));
    const peak = made.indexOf(Math.max(...made));
    expect(peak).toBe(3);
    expect(made.slice(0, peak + 1)).toEqual(made.slice(0, peak + 1).sort((a, b) => a - b));
    expect(made.slice(peak)).toEqual(made.slice(peak).sort((a, b) => b - a));
  });

  test('is the rate itself if the length of the round is unknown', () => {
    expect(roundRate(options)(batch({ index: 0, of: 0 }))).toBe(2);
  });
});
