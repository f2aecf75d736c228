import { describe, expect, it } from '@jest/globals';
import { KvCache } from '../../../model/rollout/kvCache.ts';
import { commonPrefix, Prefixes } from '../../../model/rollout/prefixes.ts';

const SHAPE = { layers: 1, kvHeads: 1, headDim: 1 };
const context = (...tokens: number[]) => Int32Array.from(tokens);

/** A cache whose row 0 holds the tokens themselves. */
function holding(tokens: Int32Array): KvCache {
  const cache = new KvCache(SHAPE, 1, 8);
  const rows = { keys: [Float32Array.from(tokens)], values: [Float32Array.from(tokens)] };
  cache.write(0, 0, tokens.length, rows, 0, tokens.length);
  return cache;
}

function keep(prefixes: Prefixes, ...tokens: number[]): void {
  prefixes.keep(context(...tokens), holding(context(...tokens)), 0);
}

describe('Prefixes', () => {
  it('finds the longest common prefix and the cache row that holds it', () => {
    const prefixes = new Prefixes(SHAPE, 4, 8);
    keep(prefixes, 1, 2, 9);
    keep(prefixes, 1, 2, 3, 4, 5);
    const { cache, row, length } = prefixes.find(context(1, 2, 3, 4, 7, 7), 5);
    expect(length).toBe(4);
    expect([...cache.view(row, 1).keys[0]!.subarray(0, 4)]).toEqual([1, 2, 3, 4]);
    expect(prefixes.find(context(1, 2, 3, 4, 7, 7), 2).length).toBe(2);
    expect(prefixes.find(context(8), 1).length).toBe(0);
  });

  it('evicts the least recently used context', () => {
    const prefixes = new Prefixes(SHAPE, 2, 8);
    keep(prefixes, 1, 1);
    keep(prefixes, 2, 2);
    prefixes.find(context(1, 1), 2);
    keep(prefixes, 3, 3);
    const lengths = [1, 2, 3].map((token) => prefixes.find(context(token, token), 2).length);
    expect(lengths).toEqual([2, 0, 2]);
  });

  it('spends one slot on a context and its continuation, in either order', () => {
    const prefixes = new Prefixes(SHAPE, 2, 8);
    keep(prefixes, 5, 5);
    keep(prefixes, 1, 2);
    keep(prefixes, 1, 2, 3, 4);
    keep(prefixes, 1, 2, 3);
    expect(prefixes.find(context(5, 5), 2).length).toBe(2);
    expect(prefixes.find(context(1, 2, 3, 4), 4).length).toBe(4);
  });

  it('keeps nothing when it has no slots', () => {
    const prefixes = new Prefixes(SHAPE, 0, 8);
    keep(prefixes, 1, 2);
    expect(prefixes.find(context(1, 2), 2).length).toBe(0);
  });
});

describe('commonPrefix', () => {
  it('is bounded by the limit and by the shorter context', () => {
    expect(commonPrefix(context(1, 2, 3), context(1, 2, 3, 4), 9)).toBe(3);
    expect(commonPrefix(context(1, 2, 3), context(1, 2, 3, 4), 1)).toBe(1);
    expect(commonPrefix(context(1, 2), context(1, 3), 2)).toBe(1);
  });
});
