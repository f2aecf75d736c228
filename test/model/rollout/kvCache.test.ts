import { describe, expect, it } from '@jest/globals';
import { KvCache } from '../../../model/rollout/kvCache.ts';

const SHAPE = { layers: 2, kvHeads: 3, headDim: 2 };

/** New rows [1, kvHeads, width, headDim] in which every number says where it belongs. */
function newRows(width: number, mark: number) {
  const make = (sign: number) =>
    Array.from({ length: SHAPE.layers }, (_, layer) =>
      Float32Array.from(
        { length: SHAPE.kvHeads * width * SHAPE.headDim },
        (_, i) => sign * (mark + layer * 100 + i),
      ),
    );
  return { keys: make(1), values: make(-1) };
}

/** What a row holds at its first positions: [layer][key, value][head][position * headDim]. */
function content(cache: KvCache, row: number, length: number) {
  const { keys, values } = cache.view(row, 1);
  const heads = (array: Float32Array) =>
    Array.from({ length: SHAPE.kvHeads }, (_, head) => {
      const start = head * cache.capacity * SHAPE.headDim;
      return [...array.subarray(start, start + length * SHAPE.headDim)];
    });
  return keys.map((array, layer) => [heads(array), heads(values[layer]!)]);
}

function filled(rows: number): KvCache {
  const cache = new KvCache(SHAPE, rows, 16);
  cache.resize(4, 0);
  for (let row = 0; row < rows; row++) cache.write(row, 0, 4, newRows(4, 1000 * (row + 1)), 0, 4);
  return cache;
}

describe('KvCache', () => {
  it('stores the first positions of a padded batch row where they belong', () => {
    const cache = new KvCache(SHAPE, 2, 8);
    cache.write(1, 3, 2, newRows(4, 0), 0, 4);
    const { keys } = cache.view(1, 1);
    const head2 = 2 * 8 * SHAPE.headDim;
    expect([...keys[1]!.subarray(head2 + 6, head2 + 12)]).toEqual([116, 117, 118, 119, 0, 0]);
  });

  it('keeps every row when its capacity grows and shrinks', () => {
    const cache = filled(3);
    const before = [0, 1, 2].map((row) => content(cache, row, 4));
    for (const capacity of [8, 16, 5, 12, 4]) {
      cache.resize(capacity, 3);
      expect([0, 1, 2].map((row) => content(cache, row, 4))).toEqual(before);
    }
  });

  it('copies a prefix between rows, and between caches of other capacity', () => {
    const cache = filled(2);
    const other = new KvCache(SHAPE, 1, 7);
    other.copyFrom(cache, 1, 0, 3);
    expect(content(other, 0, 3)).toEqual(content(cache, 1, 3));
    cache.copyFrom(other, 0, 0, 3);
    expect(content(cache, 0, 3)).toEqual(content(cache, 1, 3));
  });

  it('is all zeros once cleared', () => {
    const cache = filled(4);
    cache.resize(16, 4);
    cache.copyFrom(filled(1), 0, 3, 4);
    cache.resize(2, 1);
    cache.clear();
    cache.resize(16, 0);
    const { keys, values } = cache.view(0, 4);
    expect([...keys, ...values].flatMap((array) => [...array]).every((value) => value === 0)).toBe(
      true,
    );
  });

  it('refuses to grow beyond what was allocated', () => {
    expect(() => filled(1).resize(17, 1)).toThrow("above the cache's 16");
  });
});
