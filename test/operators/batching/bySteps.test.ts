import { expect, test } from '@jest/globals';
import { draws } from '../../../base/draws.ts';
import { byStep, type StepPoint } from '../../../operators/batching/bySteps.ts';

test('a value by steps is constant before the first point and after the last, and linear between', () => {
  const points: StepPoint[] = [
    [10, 0.6],
    [20, 0.2],
    [30, 0.4],
  ];
  const at = (step: number) => byStep(points, step);
  expect([0, 10, 15, 20, 25, 30, 1e6].map(at)).toEqual([
    0.6, 0.6, 0.4, 0.2, 0.30000000000000004, 0.4, 0.4,
  ]);
  expect(byStep([], 5)).toBeNull();
  expect(byStep([[7, 0.5]], 1)).toBe(0.5);
});

test('a value by steps goes through its points and stays within their range', () => {
  for (let seed = 0; seed < 50; seed++) {
    const chance = draws(seed, 'points');
    let step = 0;
    const points = Array.from({ length: 1 + chance.integer(0, 6) }, (_, i): StepPoint => {
      step += 1 + chance.integer(2 * i + 1, 20);
      return [step, chance.uniform(2 * i + 2)];
    });
    for (const [at, value] of points) expect(byStep(points, at)).toBe(value);
    const values = points.map(([, value]) => value);
    for (let at = 0; at < step + 5; at++) {
      const found = byStep(points, at)!;
      expect(found).toBeGreaterThanOrEqual(Math.min(...values) - 1e-12);
      expect(found).toBeLessThanOrEqual(Math.max(...values) + 1e-12);
    }
  }
});
