import { describe, expect, test } from '@jest/globals';
import { draws } from '../../../base/draws.ts';
import { dispersion, isMixed, pairwiseSum } from '../../../operators/sampling/dispersion.ts';
import { nondominatedFronts, type Point } from '../../../operators/sampling/fronts.ts';
import { paretoSelect } from '../../../operators/sampling/pareto.ts';
import { pairwiseFronts, pairwiseSelect } from '../../support/pairwisePareto.ts';

function randomPoints(seed: number, count: number, levels: number): Point[] {
  const coin = draws('pareto', seed);
  return Array.from(
    { length: count },
    (_, i): Point => [coin.integer(2 * i, levels), coin.integer(2 * i + 1, levels)],
  );
}

describe('nondominatedFronts', () => {
  test('gives the fronts of the pairwise loop, order included, on points with many ties', () => {
    for (let seed = 0; seed < 300; seed++) {
      const points = randomPoints(seed, 1 + (seed % 40), 2 + (seed % 9));
      expect(nondominatedFronts(points)).toEqual(pairwiseFronts(points));
    }
  });

  test('gives the fronts of the pairwise loop on points without ties', () => {
    const points = randomPoints(7, 400, 1_000_000);
    expect(nondominatedFronts(points)).toEqual(pairwiseFronts(points));
  });

  test('keeps every one of twenty thousand points', () => {
    const points = randomPoints(1, 20_000, 1_000_000_000);
    const fronts = nondominatedFronts(points);
    expect(fronts.flat()).toHaveLength(20_000);
  });

  test('has no front for no points, and one for equal points', () => {
    expect(nondominatedFronts([])).toEqual([]);
    expect(
      nondominatedFronts([
        [1, 1],
        [1, 1],
      ]),
    ).toEqual([[0, 1]]);
  });
});

describe('paretoSelect', () => {
  const groups: readonly (readonly [calls: readonly number[], correct: readonly number[]])[] = [
    [
      [0, 0, 0, 0],
      [0, 1, 0, 1],
    ],
    [
      [0, 4, 0, 4],
      [1, 1, 1, 0],
    ],
    [
      [0, 2, 0, 2],
      [0, 1, 1, 0],
    ],
    [
      [0, 4, 0, 4],
      [1, 1, 1, 0],
    ],
    [
      [1, 1, 1, 1],
      [1, 1, 1, 1],
    ],
    [
      [0, 6, 0, 6],
      [0, 0, 0, 0],
    ],
    [
      [0, 2, 0, 2],
      [0.7, 0.8, 0.1, 0.9],
    ],
  ];
  const points = groups.map(([calls, correct]): Point => [dispersion(calls), dispersion(correct)]);
  const names = (indices: readonly number[]) => indices.map((i) => 'abcdefg'[i]).join('');

  test('gives the published worked example', () => {
    expect(paretoSelect(points, 7).ranks).toEqual([1, 0, 0, 0, 2, 0, 1]);
    expect(names(paretoSelect(points, 4).selected)).toBe('bcdf');
    const two = paretoSelect(points, 2);
    expect(names(two.selected)).toBe('fc');
    expect(two.distances).toEqual([null, 1.125, Infinity, 0.875, null, Infinity, null]);
  });

  test('gives what pairwise comparison gives, whatever number is kept', () => {
    for (let seed = 0; seed < 200; seed++) {
      const points = randomPoints(seed, 1 + (seed % 50), 2 + (seed % 13));
      const keep = seed % 31;
      expect(paretoSelect(points, keep)).toEqual(pairwiseSelect(points, keep));
    }
  });

  test('handles negative objectives, both zeros and infinities', () => {
    const values = [-1.5, -0, 0, 2, -2e-300, 1e300, Number.POSITIVE_INFINITY, -1];
    const points = values.flatMap((first, i) =>
      values.map((second): Point => [first, -second * (i + 1)]),
    );
    expect(nondominatedFronts(points)).toEqual(pairwiseFronts(points));
    const finite = points.filter((point) => point.every(Number.isFinite));
    expect(paretoSelect(finite, 9)).toEqual(pairwiseSelect(finite, 9));
  });

  test('selects a front of three hundred thousand equal points', () => {
    const equal = Array.from({ length: 300_000 }, (): Point => [1, 1]);
    expect(paretoSelect(equal, 400_000).selected).toHaveLength(300_000);
    expect(paretoSelect(equal, 200_000).selected.at(-1)).toBe(199_999);
  });

  test('selects all if there are fewer than requested, and none if none is requested', () => {
    expect(paretoSelect(points, 99).selected).toHaveLength(7);
    expect(paretoSelect(points, 0)).toMatchObject({ selected: [] });
  });
});

describe('the dispersion of objectives', () => {
  test('is the population variance, or its root', () => {
    expect(dispersion([0, 4, 0, 4])).toBe(4);
    expect(dispersion([0, 4, 0, 4], 'deviation')).toBe(2);
    expect(dispersion([])).toBe(0);
  });

  test('sums in lanes of eight, whose last bits differ from a plain sum', () => {
    const values = Array.from({ length: 300 }, (_, i) => 1 / (i + 3));
    const leftToRight = values.reduce((sum, value) => sum + value, 0);
    expect(pairwiseSum(values)).toBeCloseTo(leftToRight, 12);
    expect(pairwiseSum(values)).not.toBe(leftToRight);
    expect(pairwiseSum([1, 2, 3])).toBe(6);
  });
});

test('a group is mixed when it has right and wrong rollouts', () => {
  expect(isMixed([0, 1, 1], 'math')).toBe(true);
  expect(isMixed([1, 1], 'math')).toBe(false);
  expect(isMixed([0.75, 0.74], 'qa')).toBe(true);
  expect(isMixed([0.1, 0.2], 'qa')).toBe(false);
});
