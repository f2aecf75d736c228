import { expect, test } from '@jest/globals';
import { continuousPoints, tiedPoints } from '../../bench/groups.ts';
import { nondominatedFronts } from '../../operators/sampling/fronts.ts';
import { paretoSelect } from '../../operators/sampling/pareto.ts';
import { pairwiseSelect } from '../support/pairwisePareto.ts';

const distinct = (points: readonly unknown[]): number =>
  new Set(points.map((point) => JSON.stringify(point))).size;

test('tied groups share points and are on many fronts; continuous groups share none', () => {
  const tied = tiedPoints(3_000);
  expect(distinct(tied)).toBeLessThan(2_000);
  expect(nondominatedFronts(tied).length).toBeGreaterThan(20);
  expect(distinct(continuousPoints(3_000))).toBe(3_000);
});

test('both kinds of groups are selected as by pairwise comparison', () => {
  for (const points of [tiedPoints(500), continuousPoints(500)]) {
    expect(paretoSelect(points, 250)).toEqual(pairwiseSelect(points, 250));
  }
});
