import { describe, expect, test } from '@jest/globals';
import { Tail } from '../../../streams/embedded/keys/tail.ts';

describe('the tail of an index', () => {
  test('skips records that are known to have other names, and only those', () => {
    const tail = new Tail();
    tail.note(5, [1, 2]);
    tail.note(6, [3]);
    tail.note(8, [1]);
    expect(tail.candidate(5, 9, new Set([3]))).toBe(6);
    expect(tail.candidate(5, 9, new Set([9]))).toBe(7);
    expect(tail.candidate(8, 9, new Set([9]))).toBe(9);
    expect(tail.candidate(4, 9, new Set([9]))).toBe(4);
  });

  test('forgets rather than grows, and then skips nothing', () => {
    const tail = new Tail();
    for (let offset = 0; offset <= 4096; offset++) tail.note(offset, [1]);
    expect(tail.candidate(0, 4097, new Set([2]))).toBe(0);
    expect(tail.candidate(4096, 4097, new Set([2]))).toBe(4097);
  });
});
