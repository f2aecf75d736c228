import { describe, expect, test } from '@jest/globals';
import { draws } from '../../../base/draws.ts';
import { inOrder, stableOrder } from '../../../operators/sampling/stableOrder.ts';

describe('stableOrder', () => {
  test('sorts as the stable sort with a comparison does', () => {
    const coin = draws('stable-order');
    for (const levels of [1, 3, 50, 2 ** 40]) {
      const values = Float64Array.from(
        { length: 500 },
        (_, i) => (coin.integer(i, levels) - levels / 2) / 7 + 0,
      );
      const before = inOrder(500).reverse();
      const expected = [...before].sort((a, b) => values[a]! - values[b]!);
      expect([...stableOrder(values, before)]).toEqual(expected);
    }
  });

  test('orders infinities, the smallest and the largest numbers', () => {
    const { MAX_VALUE, MIN_VALUE, NEGATIVE_INFINITY, POSITIVE_INFINITY } = Number;
    const ascending = [NEGATIVE_INFINITY, -MAX_VALUE, -1, -MIN_VALUE, 0, MIN_VALUE, 1, MAX_VALUE];
    const values = Float64Array.of(...ascending, POSITIVE_INFINITY).reverse();
    expect([...stableOrder(values, inOrder(9))]).toEqual([8, 7, 6, 5, 4, 3, 2, 1, 0]);
  });

  test('sorts a selection of the items and leaves the given order as it was', () => {
    const before = Int32Array.of(3, 0, 2);
    expect([...stableOrder(Float64Array.of(5, 1, 4, 5), before)]).toEqual([2, 3, 0]);
    expect([...before]).toEqual([3, 0, 2]);
  });

  test('sorts values that are inside a larger buffer', () => {
    const values = Float64Array.of(9, 9, 2, 1).subarray(2);
    expect([...stableOrder(values, inOrder(2))]).toEqual([1, 0]);
  });

  test('orders no items', () => {
    expect(stableOrder(new Float64Array(0), inOrder(0))).toHaveLength(0);
  });
});
