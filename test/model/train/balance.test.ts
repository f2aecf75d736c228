import { describe, expect, test } from '@jest/globals';
import { balance } from '../../../model/train/balance.ts';
import { tokenLimited } from '../../oracles/tokenLimit.ts';

describe('token balancing', () => {
  const lengths = [90, 80, 30, 30, 20, 10, 5, 5];
  const sums = (parts: readonly (readonly number[])[]) =>
    parts.map((part) => part.reduce((sum, place) => sum + lengths[place]!, 0));

  test('covers every sequence once with nearly equal sums', () => {
    const parts = balance(lengths, 3);
    expect(parts.flat().toSorted((a, b) => a - b)).toEqual([...lengths.keys()]);
    expect(Math.max(...sums(parts)) - Math.min(...sums(parts))).toBeLessThanOrEqual(10);
  });

  test('gives parts of equal size when asked', () => {
    expect(balance(lengths, 4, { equalSize: true }).map((part) => part.length)).toEqual([
      2, 2, 2, 2,
    ]);
  });

  test('refuses what cannot be divided', () => {
    expect(() => balance([1, 2], 3)).toThrow('fewer parts');
    expect(() => balance([1, 2, 3], 2, { equalSize: true })).toThrow('equal');
  });
});

describe('the token limit', () => {
  test('has an inverse that restores the order', () => {
    const lengths = [14, 16, 24, 25, 15, 50, 13, 13, 18, 54];
    const { partitions, inverse } = tokenLimited(lengths, 83);
    const endToEnd = partitions.flat().map((place) => lengths[place]);
    expect(inverse.map((place) => endToEnd[place])).toEqual(lengths);
  });

  test('refuses a sequence longer than the limit', () => {
    expect(() => tokenLimited([5, 9], 8)).toThrow('9 tokens');
  });
});
