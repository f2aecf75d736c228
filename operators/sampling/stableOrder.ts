/**
 * Sorting items by a number each, where equals keep the order they had: what a Pareto sort does most.
 *
 * A radix sort over the bits of the doubles, least significant digit first. Read as whole numbers, doubles of one
 * sign are already in order; turning over the sign bit (and, below zero, the rest) puts all of them in one line.
 * Infinity has its place; NaN must not come, and -0 sorts before 0, so callers give one zero.
 */

const DIGIT_BITS = 11;
const BUCKETS = 1 << DIGIT_BITS;
/** Digits of a 32-bit half: 11, 11 and 10 bits. */
const SHIFTS = [0, DIGIT_BITS, 2 * DIGIT_BITS] as const;
const SIGN = 0x8000_0000;

/** The items of `before`, by their value in `values` ascending; equals as in `before`. Takes O(n). */
export function stableOrder(values: Float64Array, before: Int32Array): Int32Array {
  const [low, high] = halves(values);
  let order = before;
  for (const half of [low, high])
    for (const shift of SHIFTS) order = byDigit(half, shift, order) ?? order;
  return order;
}

/** The low and the high 32 bits of each double, turned so that they sort as whole numbers. */
function halves(values: Float64Array): readonly [low: Uint32Array, high: Uint32Array] {
  const words = new Uint32Array(values.buffer, values.byteOffset, 2 * values.length); // little-endian
  const low = new Uint32Array(values.length);
  const high = new Uint32Array(values.length);
  for (let item = 0; item < values.length; item++) {
    const top = words[2 * item + 1]!;
    const negative = top >= SIGN;
    low[item] = negative ? ~words[2 * item]! : words[2 * item]!;
    high[item] = negative ? ~top : top ^ SIGN;
  }
  return [low, high];
}

/** `before` in the order of one digit, or null when all items have the same. */
function byDigit(half: Uint32Array, shift: number, before: Int32Array): Int32Array | null {
  const next = new Int32Array(BUCKETS);
  const digit = (item: number): number => (half[item]! >>> shift) & (BUCKETS - 1);
  for (let i = 0; i < before.length; i++) next[digit(before[i]!)]! += 1;
  if (before.length === 0 || next[digit(before[0]!)] === before.length) return null;
  for (let bucket = 0, start = 0; bucket < BUCKETS; bucket++) {
    const count = next[bucket]!;
    next[bucket] = start;
    start += count;
  }
  const after = new Int32Array(before.length);
  for (let i = 0; i < before.length; i++) after[next[digit(before[i]!)]!++] = before[i]!;
  return after;
}

/** 0, 1, 2, … */
export function inOrder(count: number): Int32Array {
  const order = new Int32Array(count);
  for (let i = 0; i < count; i++) order[i] = i;
  return order;
}
