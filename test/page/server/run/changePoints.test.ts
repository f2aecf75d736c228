/** Where a curve changes its level. */
import { describe, expect, test } from '@jest/globals';
import { changePoints } from '../../../../page/server/run/changePoints.ts';

/** Noise with standard deviation 1 that is always the same: sums of twelve numbers of a fixed sequence. */
function noise(count: number, seed: number): number[] {
  let state = seed;
  const next = (): number => {
    state = (state * 1_103_515_245 + 12_345) % 2_147_483_648;
    return state / 2_147_483_648;
  };
  return Array.from({ length: count }, () => {
    let sum = -6;
    for (let i = 0; i < 12; i++) sum += next();
    return sum;
  });
}

function curve(levels: readonly (readonly [number, number])[], seed: number): number[] {
  const means = levels.flatMap(([count, level]) => new Array<number>(count).fill(level));
  return noise(means.length, seed).map((value, i) => value + means[i]!);
}

describe('the change points of a curve', () => {
  test('are where its level changes, with the levels on either side and the size', () => {
    const values = curve(
      [
        [40, 0],
        [30, 8],
        [50, 2],
      ],
      7,
    );
    const found = changePoints(values);
    expect(found.map(({ index }) => index)).toEqual([40, 70]);
    const [rise, fall] = found;
    expect(rise!.before).toBeCloseTo(mean(values.slice(35, 40)), 10);
    expect(rise!.after).toBeCloseTo(mean(values.slice(40, 45)), 10);
    expect(rise!.size).toBeGreaterThan(5);
    expect(fall!.after).toBeLessThan(fall!.before);
  });

  test.each([1, 2, 3, 4, 5, 6, 7, 8])('are none in noise (%i)', (seed) => {
    expect(changePoints(curve([[200, 3]], seed))).toEqual([]);
  });

  test('do not depend on the scale or the offset of the values', () => {
    const values = curve(
      [
        [30, 0],
        [30, 6],
      ],
      3,
    );
    const moved = changePoints(values.map((value) => 1e6 + value / 1000));
    expect(moved.map(({ index }) => index)).toEqual(changePoints(values).map(({ index }) => index));
    expect(moved[0]!.size).toBeCloseTo(changePoints(values)[0]!.size, 3);
  });

  test('are found where values are exact: one jump between two constants', () => {
    const found = changePoints([...new Array(20).fill(1), ...new Array(20).fill(0)]);
    expect(found).toMatchObject([{ index: 20, before: 1, after: 0 }]);
  });

  test.each([[[]], [[1]], [[1, 2, 3, 4, 5]], [new Array(50).fill(0.5)]])(
    'are none where there is nothing to compare: %j',
    (values) => {
      expect(changePoints(values)).toEqual([]);
    },
  );

  test('are those of the best of all divisions, as trying each of them finds it', () => {
    for (const seed of [11, 12, 13, 14, 15, 16]) {
      const values = curve(
        [
          [4, 0],
          [4, 9],
          [5, -3],
        ],
        seed,
      );
      expect(changePoints(values).map(({ index }) => index)).toEqual(bestOfAll(values));
    }
  });
});

function mean(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}

/** Tries every division into stretches of at least three. */
function bestOfAll(values: readonly number[]): readonly number[] {
  const steps = values.slice(1).map((value, i) => Math.abs(value - values[i]!));
  const median = [...steps].sort((a, b) => a - b)[Math.floor(steps.length / 2)]!;
  const price = 4 * ((1.4826 * median) ** 2 / 2) * Math.log(values.length);
  const error = (part: readonly number[]): number =>
    part.reduce((sum, value) => sum + (value - mean(part)) ** 2, 0);
  let best: { readonly total: number; readonly cuts: readonly number[] } = {
    total: error(values),
    cuts: [],
  };
  const visit = (from: number, total: number, cuts: readonly number[]): void => {
    for (let cut = from + 3; cut <= values.length - 3; cut++) {
      const so = total + error(values.slice(from, cut)) + price;
      const all = so + error(values.slice(cut));
      if (all < best.total) best = { total: all, cuts: [...cuts, cut] };
      visit(cut, so, [...cuts, cut]);
    }
  };
  visit(0, 0, []);
  return best.cuts;
}
