/** The gradient of a function of a matrix by central differences, entry by entry; 0 where the mask is. */
import type { Matrix } from '../../model/credit/matrix.ts';

export function slopes(
  of: (moved: Matrix) => number,
  at: Matrix,
  mask: Matrix,
  step = 1e-6,
): number[][] {
  const moved = (i: number, t: number, by: number): Matrix =>
    at.map((row, a) => row.map((value, b) => (a === i && b === t ? value + by : value)));
  return at.map((row, i) =>
    row.map((_, t) =>
      mask[i]![t] === 1 ? (of(moved(i, t, step)) - of(moved(i, t, -step))) / (2 * step) : 0,
    ),
  );
}
