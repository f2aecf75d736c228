import { expect, test } from '@jest/globals';
import { microBatches, pairedMicroBatches } from '../../../model/train/microBatches.ts';

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

test('the two rows of a pair stay together, also where both would not fit', () => {
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
