import { expect, test } from '@jest/globals';
import { draws } from '../../../base/draws.ts';
import {
  microBatches,
  microBatchTokens,
  pairedMicroBatches,
} from '../../../model/train/microBatches.ts';

test('micro-batches sort rows by length and keep padded tokens within the limit', () => {
  expect(microBatches([3, 20, 9, 16, 0, 10], 40)).toEqual([
    { rows: [1], length: 24 },
    { rows: [3, 5], length: 16 },
    { rows: [2, 0], length: 16 },
  ]);
});

test('a row longer than the limit is a micro-batch of its own', () => {
  expect(microBatches([100, 1], 10)).toEqual([
    { rows: [0], length: 104 },
    { rows: [1], length: 8 },
  ]);
});

test('the two rows of a pair stay together even if they exceed the limit', () => {
  expect(pairedMicroBatches([3, 20, 9, 16, 10, 2, 4, 4], 50)).toEqual([
    { rows: [0, 1], length: 24 },
    { rows: [2, 3], length: 16 },
    { rows: [4, 5], length: 16 },
    { rows: [6, 7], length: 8 },
  ]);
  expect(pairedMicroBatches([3, 20, 9, 16, 10, 2, 4, 4], 64)).toEqual([
    { rows: [0, 1], length: 24 },
    { rows: [2, 3, 4, 5], length: 16 },
    { rows: [6, 7], length: 8 },
  ]);
  expect(pairedMicroBatches([3, 20], 10)).toEqual([{ rows: [0, 1], length: 24 }]);
});

test('balanced micro-batches have nearly equal numbers of tokens', () => {
  const lengths = [40, 8, 24, 16, 32, 8, 16, 16];
  const parts = microBatches(lengths, 160, 'karmarkar-karp');
  const tokens = parts.map(({ rows }) => rows.reduce((sum, row) => sum + lengths[row]!, 0));
  expect(tokens.toSorted()).toEqual([80, 80]);
});

test.each(['length', 'karmarkar-karp', 'packed'] as const)(
  'micro-batches by %s hold each row once and stay within the limit',
  (packing) => {
    for (let batch = 0; batch < 40; batch++) {
      const coin = draws('packing', batch);
      const lengths = Array.from({ length: 1 + coin.integer(0, 50) }, (_, row) =>
        coin.integer(row + 1, batch % 2 === 0 ? 40 : 300),
      );
      const parts = microBatches(lengths, 256, packing);
      const rows = parts.flatMap((part) => part.rows).toSorted((a, b) => a - b);
      expect(rows).toEqual([...lengths.keys()].filter((row) => lengths[row]! > 0));
      for (const { rows, length, packs = rows.map((row) => [row]) } of parts) {
        expect(packs.flat()).toEqual(rows);
        for (const pack of packs) {
          const tokens = pack.reduce((sum, row) => sum + lengths[row]!, 0);
          expect(length).toBeGreaterThanOrEqual(tokens);
        }
        if (packs.length > 1) expect(packs.length * length).toBeLessThanOrEqual(256);
      }
    }
  },
);

test('pairs stay together in balanced micro-batches', () => {
  const parts = pairedMicroBatches([3, 20, 9, 16, 10, 2, 4, 4], 64, 'karmarkar-karp');
  const rows = parts.flatMap((part) => part.rows);
  expect(rows.toSorted((a, b) => a - b)).toEqual([0, 1, 2, 3, 4, 5, 6, 7]);
  for (const { rows } of parts)
    for (let i = 0; i < rows.length; i += 2) expect(rows[i + 1]).toBe(rows[i]! + 1);
});

test('wide networks get smaller micro-batches', () => {
  const tokens = (intermediateSize: number) => microBatchTokens({ intermediateSize });
  expect([384, 1024, 1536, 2304, 8192, 10 ** 6].map(tokens)).toEqual([
    1920, 1920, 960, 512, 256, 64,
  ]);
});
