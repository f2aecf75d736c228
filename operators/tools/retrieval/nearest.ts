/**
 * The passages nearest to a query among some, by the product of their vectors: the same sums in the same
 * order wherever they are computed, so that a score is the same on every machine and whatever found the
 * candidates.
 */

/**
 * Rows with their scores, best first; ties in the order of the rows. Whatever ties with the last one is there
 * too.
 */
export interface Nearest {
  readonly rows: Uint32Array;
  readonly scores: Float64Array;
}

/** The product of the two vectors at these offsets. */
export function dot(
  a: Float32Array,
  atA: number,
  b: Float32Array,
  atB: number,
  length: number,
): number {
  let [s0, s1, s2, s3] = [0, 0, 0, 0];
  const whole = length - (length % 4);
  for (let i = 0; i < whole; i += 4) {
    s0 += a[atA + i]! * b[atB + i]!;
    s1 += a[atA + i + 1]! * b[atB + i + 1]!;
    s2 += a[atA + i + 2]! * b[atB + i + 2]!;
    s3 += a[atA + i + 3]! * b[atB + i + 3]!;
  }
  for (let i = whole; i < length; i++) s0 += a[atA + i]! * b[atB + i]!;
  return s0 + s1 + (s2 + s3);
}

/**
 * The `top` best of `rows`, whose scores are at the same places, and those that tie with the last of them.
 */
export function best(rows: Uint32Array, scores: Float64Array, top: number): Nearest {
  const least = scores.length <= top ? -Infinity : scores.toSorted()[scores.length - top]!;
  const places: number[] = [];
  for (let i = 0; i < scores.length; i++) if (scores[i]! >= least) places.push(i);
  places.sort((a, b) => scores[b]! - scores[a]! || rows[a]! - rows[b]!);
  return {
    rows: Uint32Array.from(places, (place) => rows[place]!),
    scores: Float64Array.from(places, (place) => scores[place]!),
  };
}
