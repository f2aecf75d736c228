import { describe, expect, test } from '@jest/globals';
import {
  branchPoints,
  widestWindow,
  windowEntropies,
} from '../../../operators/sampling/entropyGuided.ts';

const sure = [0];
const unsure = [Math.log(0.5), Math.log(0.5)];

describe('windowEntropies', () => {
  test('takes the mean over the first tokens of a step, and the whole step for a window of 0', () => {
    const got = windowEntropies([unsure, unsure, sure, sure], 4, [2, 0]);
    expect(got.map(({ entropy }) => entropy)).toEqual([Math.LN2, Math.LN2 / 2]);
    expect(got.map(({ tokens }) => tokens)).toEqual([2, 4]);
  });

  test('counts the last entry again past the end of the list', () => {
    expect(windowEntropies([sure, unsure], 4, [0])[0]!.entropy).toBeCloseTo(Math.LN2 * 0.75, 12);
  });

  test('gives 0 for an empty step', () => {
    expect(windowEntropies([], 0, [10])).toEqual([{ window: 10, entropy: 0, tokens: 0 }]);
  });
});

test('the first of equally uncertain windows wins', () => {
  const windows = windowEntropies([unsure, unsure], 2, [10, 20]);
  expect(widestWindow(windows).window).toBe(10);
});

test('branch points are the most uncertain steps, with ties in order', () => {
  const point = (step: number, entropy: number) => ({ step, position: step, entropy, window: 10 });
  const chosen = branchPoints([point(0, 1), point(1, 2), point(2, 1)], 2);
  expect(chosen.map(({ step }) => step)).toEqual([1, 0]);
});
