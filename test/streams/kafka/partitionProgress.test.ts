import { describe, expect, test } from '@jest/globals';
import {
  decodeProgress,
  encodeProgress,
  lowOf,
  PartitionProgress,
} from '../../../streams/kafka/partitionProgress.ts';

/** Offsets with gaps, as transactions leave them. */
const OFFSETS = [0, 1, 3, 4, 130, 131, 20_000, 20_001];

function met(): PartitionProgress {
  const progress = new PartitionProgress();
  for (const offset of OFFSETS) progress.meet(offset);
  return progress;
}

describe('progress in a partition', () => {
  test('is marked at the first unsettled record, whatever was settled after it', () => {
    const progress = met();
    expect(progress.low).toBe(0);
    for (const offset of [20_001, 1, 130]) progress.settle(offset);
    expect(progress.low).toBe(0);
    progress.settle(0);
    expect(progress.low).toBe(3);
    expect(progress.settled).toBe(4);
    expect(OFFSETS.filter((offset) => progress.has(offset))).toEqual([0, 1, 130, 20_001]);
  });

  test('counts a record once, and delivers it once', () => {
    const progress = met();
    progress.settle(3);
    progress.settle(3);
    progress.meet(3);
    expect(progress.settled).toBe(1);
    expect(progress.has(3)).toBe(true);
  });

  test('predicts its state after a commit without changing', () => {
    const progress = met();
    const after = progress.after([0, 1, 1, 999]);
    expect(lowOf(after)).toBe(3);
    expect(after.settled).toBe(2);
    expect(progress.low).toBe(0);
  });

  test('is restored from a committed offset and its metadata', () => {
    for (let subset = 0; subset < 2 ** OFFSETS.length; subset++) {
      const state = met().after(OFFSETS.filter((_, i) => (subset >> i) & 1));
      expect(decodeProgress(lowOf(state), encodeProgress(state))).toEqual(state);
    }
  });

  test('of 2,500 records in flight fits into the metadata of an offset', () => {
    const progress = new PartitionProgress();
    for (let i = 0; i < 2500; i++) progress.meet(1e9 + i * 3);
    expect(encodeProgress(progress.after([])).length).toBeLessThan(4000);
  });

  test('accepts an offset that was set by hand', () => {
    expect(decodeProgress(42, 'by hand')).toEqual({ seen: 42, unsettled: [], settled: 0 });
  });

  test('is refused from truncated metadata', () => {
    expect(() => decodeProgress(42, 'm1.')).toThrow(/truncated/);
  });
});
