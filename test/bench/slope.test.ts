import { expect, test } from '@jest/globals';
import { slope } from '../../bench/slope.ts';

test('slope is that of a line, and of the line between points on both of its sides', () => {
  const line = [1, 2, 5, 9].map((x) => [x, 3 * x - 7] as const);
  expect(slope(line)).toBeCloseTo(3, 12);
  const beside = line.flatMap(([x, y]) => [[x, y - 2] as const, [x, y + 2] as const]);
  expect(slope(beside)).toBeCloseTo(3, 12);
});

test('slope of points at one place, or of none, is 0', () => {
  const same: readonly (readonly [number, number])[] = [
    [2, 1],
    [2, 5],
  ];
  expect(slope(same)).toBe(0);
  expect(slope([])).toBe(0);
});
