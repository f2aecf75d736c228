/**
 * Passes over whole arrays of numbers, for a step's gradients and parameters: sum, squares, AdamW.
 *
 * Arrays stay where they are: one piece of each after the other is copied to where the loops work, and back.
 * Sums are taken in an order that depends on lengths alone.
 */
import { FACTORS, type Factor, type Loops, openLoops, PIECE, STRIDE } from './loops.ts';

/** A thread has its own. */
let machine: ReturnType<typeof openLoops> | undefined;

/** `work` on each piece of arrays of equal length; the first `changed` of them are written back. */
function byPieces(
  arrays: readonly Float32Array[],
  changed: number,
  work: (loops: Loops, count: number) => void,
): void {
  machine ??= openLoops();
  const { loops, pieces } = machine;
  const piece = (index: number) => pieces[index] as Float32Array;
  const length = (arrays[0] as Float32Array).length;
  for (let from = 0; from < length; from += PIECE) {
    const count = Math.min(PIECE, length - from);
    const whole = Math.ceil(count / STRIDE) * STRIDE;
    for (const [index, array] of arrays.entries())
      piece(index)
        .fill(0, count, whole)
        .set(array.subarray(from, from + count));
    work(loops, whole);
    for (let index = 0; index < changed; index++)
      (arrays[index] as Float32Array).set(piece(index).subarray(0, count), from);
  }
}

/** Adds `part` to `sum`, number by number. */
export function addTo(sum: Float32Array, part: Float32Array): void {
  byPieces([sum, part], 1, (loops, count) => loops.add(count));
}

/** In float64. Not finite when a number is not. */
export function sumOfSquares(x: Float32Array): number {
  let sum = 0;
  byPieces([x], 0, (loops, count) => {
    sum += loops.squares(count);
  });
  return sum;
}

/** One update of a parameter and the means of its gradient and of its squares, in place. */
export function updateBy(
  parameter: Float32Array,
  mean: Float32Array,
  square: Float32Array,
  gradient: Float32Array,
  factors: Readonly<Record<Factor, number>>,
): void {
  const numbers = FACTORS.map((name) => factors[name]);
  byPieces([parameter, mean, square, gradient], 3, (loops, count) =>
    loops.update(count, ...numbers),
  );
}
