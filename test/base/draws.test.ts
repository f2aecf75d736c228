import { describe, expect, test } from '@jest/globals';
import { type DrawKey, draws, philox } from '../../base/draws.ts';

const hex = (words: readonly number[]): string[] =>
  words.map((word) => word.toString(16).padStart(8, '0'));

describe('philox', () => {
  // Known answers of philox4x32-10 from Random123's kat_vectors: counter, key, output.
  test.each([
    [[0, 0, 0, 0], [0, 0], '6627e8d5 e169c58d bc57ac4c 9b00dbd8'],
    [
      [0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff],
      [0xffffffff, 0xffffffff],
      '408f276d 41c83b0e a20bc7c6 6d5451fd',
    ],
    [
      [0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344],
      [0xa4093822, 0x299f31d0],
      'd16cfe09 94fdcceb 5001e420 24126ea1',
    ],
  ] as const)('gives the known answer for counter %p', (counter, key, expected) => {
    expect(hex(philox(key, counter))).toEqual(expected.split(' '));
  });

  test('takes the upper half of the counter as 0 when it is not given', () => {
    expect(philox([1, 2], [3, 4])).toEqual(philox([1, 2], [3, 4, 0, 0]));
  });
});

describe('draws', () => {
  test('depend on the key and the index alone, not on what was drawn before', () => {
    const indices = Array.from({ length: 50 }, (_, i) => i * 7);
    const forward = indices.map((i) => draws('run', 7, 'q1').uniform(i));
    const stream = draws('run', 7, 'q1');
    const backward = [...indices].reverse().map((i) => stream.uniform(i));
    expect(backward.reverse()).toEqual(forward);
  });

  test('give different streams to keys that differ anywhere', () => {
    const keys: DrawKey[][] = [
      ['a', 'bc'],
      ['ab', 'c'],
      ['abc'],
      ['a', 'b', 'c'],
      ['1'],
      [1],
      ['a'],
    ];
    for (let seed = 0; seed < 10; seed++) {
      for (let question = 0; question < 100; question++) {
        for (const phase of ['explore', 'practice', 'evaluate']) {
          for (let index = 0; index < 10; index++)
            keys.push([seed, `q-${question}`, phase, 1, index]);
        }
      }
    }
    const first = new Set(keys.map((key) => draws(...key).uniform(0)));
    expect(first.size).toBe(keys.length);
  });

  test('under a key made in two parts are those of the whole key', () => {
    const indices = [0, 1, 2, 2 ** 32, 2 ** 40];
    const under = indices.map((i) => draws(7, 'q').under('x', 1).uniform(i));
    expect(under).toEqual(indices.map((i) => draws(7, 'q', 'x', 1).uniform(i)));
    expect(new Set(under).size).toBe(indices.length);
  });

  test('are uniform in [0, 1) within a stream and across streams', () => {
    const count = 20_000;
    const bins = 20;
    const chiSquare = (values: readonly number[]): number => {
      const seen = new Array<number>(bins).fill(0);
      for (const value of values) seen[Math.floor(value * bins)]! += 1;
      return seen.reduce((sum, n) => sum + (n - count / bins) ** 2 / (count / bins), 0);
    };
    const stream = draws('even');
    const within = Array.from({ length: count }, (_, i) => stream.uniform(i));
    const over = Array.from({ length: count }, (_, i) => draws(7, `q${i}`, 'explore').uniform(0));
    for (const values of [within, over]) {
      expect(values.every((value) => value >= 0 && value < 1)).toBe(true);
      // 99.9 % of a chi-square with 19 degrees of freedom are below 43.8.
      expect(chiSquare(values)).toBeLessThan(43.8);
    }
    const products = within.slice(1).map((value, i) => (value - 0.5) * (within[i]! - 0.5));
    expect(Math.abs(products.reduce((a, b) => a + b, 0) / count)).toBeLessThan(0.002);
  });

  test('of whole numbers reach every value below the bound and none beyond it', () => {
    const stream = draws('whole');
    const seen = new Set(Array.from({ length: 500 }, (_, i) => stream.integer(i, 7)));
    expect([...seen].sort()).toEqual([0, 1, 2, 3, 4, 5, 6]);
  });
});
