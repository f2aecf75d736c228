import { expect, test } from '@jest/globals';
import { draws } from '../../../base/draws.ts';
import { BLOCK_SIZE, blocksOf, intoEightBits } from '../../../model/lowering/eightBits.ts';

const [ROWS, WIDTH] = [5, 2 * BLOCK_SIZE + 7];
const BLOCKS = blocksOf(WIDTH);

function written(rows: Float32Array) {
  const numbers = new Uint8Array(ROWS * BLOCKS * BLOCK_SIZE);
  const scales = new Float32Array(ROWS * BLOCKS);
  intoEightBits(rows, WIDTH, numbers, scales);
  return { numbers, scales };
}

test('a matrix in 8 bits is within half a step of what it was, and the padding counts as 0', () => {
  const random = draws('eight bits');
  const rows = Float32Array.from({ length: ROWS * WIDTH }, (_, i) => random.uniform(i) - 0.3);
  const { numbers, scales } = written(rows);
  for (let row = 0; row < ROWS; row++) {
    for (let i = 0; i < BLOCKS * BLOCK_SIZE; i++) {
      const scale = scales[row * BLOCKS + Math.floor(i / BLOCK_SIZE)]!;
      const read = (numbers[row * BLOCKS * BLOCK_SIZE + i]! - 128) * scale;
      const was = i < WIDTH ? rows[row * WIDTH + i]! : 0;
      expect(Math.abs(read - was)).toBeLessThanOrEqual(i < WIDTH ? 0.501 * scale : 0);
    }
  }
});

test('the largest number of a block is exact, and zeros stay zeros', () => {
  const rows = new Float32Array(ROWS * WIDTH);
  rows[3] = -0.5;
  const { numbers, scales } = written(rows);
  expect((numbers[3]! - 128) * scales[0]!).toBeCloseTo(-0.5, 7);
  expect(numbers.filter((each) => each !== 128)).toHaveLength(1);
  expect(scales.filter((each) => each !== 0)).toHaveLength(1);
});
