/** Pools the vectors of a text's tokens into one vector. */
import type { EncoderSettings } from './encoder.ts';

/** Last layer of a batch: [rows, width, size], of which row `i` has `lengths[i]` tokens, from the left. */
export interface Hidden {
  readonly data: Float32Array;
  readonly width: number;
  readonly size: number;
  readonly lengths: readonly number[];
}

/** Writes the vector of a row to `into`, from `at` on. */
export function poolRow(
  { data, width, size, lengths }: Hidden,
  row: number,
  { pooling, normalised }: Pick<EncoderSettings, 'pooling' | 'normalised'>,
  into: Float32Array,
  at: number,
): void {
  const start = row * width * size;
  const count = pooling === 'cls' ? 1 : (lengths[row] as number);
  const sums = new Float64Array(size);
  for (let token = 0; token < count; token++)
    for (let i = 0; i < size; i++) sums[i]! += data[start + token * size + i]!;
  let squares = 0;
  for (let i = 0; i < size; i++) squares += sums[i]! ** 2;
  // A vector of zeros stays zero.
  const scale = normalised ? 1 / (Math.sqrt(squares) || 1) : 1 / count;
  for (let i = 0; i < size; i++) into[at + i] = sums[i]! * scale;
}
