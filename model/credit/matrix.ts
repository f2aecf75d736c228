/**
 * Numbers per token of a batch of sequences, [sequence][token], with a mask of the tokens that count.
 */

export type Matrix = readonly (readonly number[])[];
/** 1 where a token counts, 0 where it does not. */
export type Mask = Matrix;

/** Guards the division by an empty mask, as the reference does. */
const EPSILON = 1e-8;

export function mapMatrix(
  matrix: Matrix,
  value: (item: number, sequence: number, token: number) => number,
): number[][] {
  return matrix.map((row, i) => row.map((item, t) => value(item, i, t)));
}

/** Sum over all entries that the mask selects. */
export function maskedSum(matrix: Matrix, mask: Mask): number {
  let sum = 0;
  matrix.forEach((row, i) => {
    row.forEach((item, t) => {
      sum += item * mask[i]![t]!;
    });
  });
  return sum;
}

/** Σ x·m / (Σ m + 1e-8). */
export function maskedMean(matrix: Matrix, mask: Mask): number {
  return maskedSum(matrix, mask) / (countSelected(mask) + EPSILON);
}

/** Unbiased variance of the selected entries; throws when there are fewer than two. */
export function maskedVariance(matrix: Matrix, mask: Mask): number {
  const count = countSelected(mask);
  if (count <= 1) throw new Error(`a variance needs at least 2 selected tokens, got ${count}`);
  const mean = maskedMean(matrix, mask);
  const squares = mapMatrix(matrix, (item) => (item - mean) ** 2);
  return (maskedMean(squares, mask) * count) / (count - 1);
}

/** Every entry minus the selected mean, over the selected deviation. */
export function whiten(matrix: Matrix, mask: Mask): number[][] {
  const mean = maskedMean(matrix, mask);
  const scale = 1 / Math.sqrt(maskedVariance(matrix, mask) + EPSILON);
  return mapMatrix(matrix, (item) => (item - mean) * scale);
}

export function countSelected(mask: Mask): number {
  return mask.reduce((sum, row) => sum + row.reduce((inRow, selected) => inRow + selected, 0), 0);
}
