import { describe, expect, test } from '@jest/globals';
import { type ClassMix, mixed } from '../../../operators/batching/mix.ts';

type Item = readonly [name: string, place: number];

/** So many items of each class, one class after the other. */
const items = (counts: Readonly<Record<string, number>>): Item[] =>
  Object.entries(counts).flatMap(([name, count]) =>
    Array.from({ length: count }, (_, place): Item => [name, place]),
  );
function counts(taken: readonly Item[]): Record<string, number> {
  const of: Record<string, number> = {};
  for (const [name] of taken) of[name] = (of[name] ?? 0) + 1;
  return of;
}
const mix = (from: Readonly<Record<string, number>>, how: ClassMix, most?: number) =>
  counts(mixed(items(from), ([name]) => name, how, most));

/** Tool-Light's: vanilla to guided 13 : 7, hard to easy 2 : 1. */
const shares = { 'v/hard': 26, 'v/easy': 13, 'g/hard': 14, 'g/easy': 7 };

describe('mixed', () => {
  test('takes the largest mixture of the exact proportions', () => {
    const there = { 'v/hard': 60, 'v/easy': 60, 'g/hard': 60, 'g/easy': 14 };
    expect(mix(there, { shares })).toEqual({
      'v/hard': 52,
      'v/easy': 26,
      'g/hard': 28,
      'g/easy': 14,
    });
  });

  test('rounds down where examples are whole', () => {
    expect(mix({ a: 5, b: 6 }, { shares: { a: 2, b: 1 } })).toEqual({ a: 5, b: 2 });
    // A third of three is one, whatever the last bit says.
    expect(mix({ a: 3, b: 9, c: 9 }, { shares: { a: 0.3, b: 0.1, c: 0.6 } })).toEqual({
      a: 3,
      b: 1,
      c: 6,
    });
  });

  test('keeps the order, and the first of each class', () => {
    const taken = mixed(
      items({ a: 3, b: 3 }).toSorted((x, y) => x[1] - y[1]),
      ([name]) => name,
      { shares: { a: 2, b: 1 } },
    );
    expect(taken).toEqual([
      ['a', 0],
      ['b', 0],
      ['a', 1],
      ['a', 2],
    ]);
  });

  test('lets an empty class not starve the others, which keep their proportions', () => {
    expect(mix({ 'v/hard': 10, 'g/easy': 14 }, { shares })).toEqual({ 'v/hard': 10, 'g/easy': 2 });
  });

  test('takes the whole of a tiny class', () => {
    const there = { a: 100, b: 100, c: 1 };
    const even = { a: 1, b: 1, c: 1 };
    expect(mix(there, { shares: even })).toEqual({ a: 100, b: 100, c: 1 });
    expect(mix(there, { shares: even, scarce: 0 })).toEqual({ a: 1, b: 1, c: 1 });
    // At the border of a quarter of its due (201 / 3 = 67 each) it sets the measure.
    expect(mix({ a: 92, b: 92, c: 17 }, { shares: even })).toEqual({ a: 17, b: 17, c: 17 });
    expect(mix({ a: 93, b: 92, c: 16 }, { shares: even })).toEqual({ a: 92, b: 92, c: 16 });
  });

  test('leaves out a class without a share', () => {
    expect(mix({ a: 2, b: 2, c: 2 }, { shares: { a: 1, b: 0 } })).toEqual({ a: 2 });
    expect(mix({ c: 2 }, { shares: { a: 1 } })).toEqual({});
  });

  test('takes at most the total, in proportion', () => {
    expect(mix({ a: 100, b: 100 }, { shares: { a: 2, b: 1 } }, 9)).toEqual({ a: 6, b: 3 });
    expect(mix({ a: 100, b: 100, c: 2 }, { shares: { a: 1, b: 1, c: 1 } }, 9)) //
      .toEqual({ a: 3, b: 3, c: 2 });
    expect(mix({ a: 100 }, { shares: { a: 1 } }, 0)).toEqual({});
  });
});
