/** What was read lately is kept up to a number of bytes. */
import { expect, test } from '@jest/globals';
import { recent } from '../../../page/browser/logic/recent.ts';

test('a cache of recent values evicts the least recently used, and does not keep what is too large', () => {
  const kept = recent<string>(10);
  kept.put('a', 'A', 4);
  kept.put('b', 'B', 4);
  expect(kept.get('a')).toBe('A');
  kept.put('c', 'C', 4);
  expect([kept.get('a'), kept.get('b'), kept.get('c')]).toEqual(['A', undefined, 'C']);
  kept.put('huge', 'H', 11);
  expect(kept.get('huge')).toBeUndefined();
  expect(kept.bytes).toBe(8);
  kept.put('a', 'A2', 1);
  expect(kept.bytes).toBe(5);
});
