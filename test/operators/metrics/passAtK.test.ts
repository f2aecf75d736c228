import { describe, expect, test } from '@jest/globals';
import { meanPassAtK, passAtK, passSizes } from '../../../operators/metrics/passAtK.ts';

/** The definition: the share of the k-subsets of n responses that hold a right one. */
function bySubsets(n: number, right: number, k: number): number {
  let [all, some] = [0, 0];
  for (let set = 0; set < 2 ** n; set++) {
    const members = Array.from({ length: n }, (_, i) => (set >> i) & 1);
    if (members.reduce((sum, member) => sum + member, 0) !== k) continue;
    all++;
    if (members.slice(0, right).includes(1)) some++;
  }
  return some / all;
}

describe('pass@k', () => {
  test('is the share of the subsets with a right response, for every n, c and k up to 8', () => {
    for (let n = 1; n <= 8; n++) {
      for (let right = 0; right <= n; right++) {
        for (let k = 1; k <= n; k++) {
          expect(passAtK({ n, right }, k)).toBeCloseTo(bySubsets(n, right, k), 12);
        }
      }
    }
  });

  test('does not overflow with many responses', () => {
    expect(passAtK({ n: 10_000, right: 10 }, 1)).toBeCloseTo(0.001, 12);
    expect(passAtK({ n: 10_000, right: 1 }, 5000)).toBeCloseTo(0.5, 9);
  });

  test.each([
    [2, 1, 3],
    [2, 1, 0],
    [2, 3, 1],
    [2, 1, 1.5],
    [0, 0, 1],
  ])('with n %d, c %d, k %d is refused', (n, right, k) => {
    expect(() => passAtK({ n, right }, k)).toThrow(RangeError);
  });

  test('is averaged over questions', () => {
    const questions = [
      { n: 2, right: 1 },
      { n: 4, right: 0 },
    ];
    expect(meanPassAtK(questions, 1)).toBe(0.25);
    expect(meanPassAtK([], 1)).toBe(0);
  });

  test('is shown for the powers of two below n, and for n', () => {
    expect([0, 1, 2, 5, 8].map(passSizes)).toEqual([[], [1], [1, 2], [1, 2, 4, 5], [1, 2, 4, 8]]);
  });
});
