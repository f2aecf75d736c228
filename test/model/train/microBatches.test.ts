import { expect, test } from '@jest/globals';
import { microBatches } from '../../../model/train/microBatches.ts';

test('rows are sorted by length and cut so that padded tokens stay within the limit', () => {
  expect(microBatches([3, 20, 9, 16, 0, 10], 40)).toEqual([
    { rows: [1], length: 24 },
    { rows: [3, 5], length: 16 },
    { rows: [2, 0], length: 16 },
  ]);
});

test('a row longer than the limit goes alone', () => {
  expect(microBatches([100, 1], 10)).toEqual([
    { rows: [0], length: 104 },
    { rows: [1], length: 8 },
  ]);
});
