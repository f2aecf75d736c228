/**
 * Sorts items by a number each, keeping the order of equals: what a Pareto sort does most.
 *
 * A radix sort over the bits of the doubles, least significant digit first. Read as whole numbers, doubles of
 * one sign are already in order; flipping the sign bit (and, below zero, the rest) puts all of them in order.
 * Infinity is fine; NaN must not occur, and -0 sorts before 0, so callers give only one zero.
 */

const DIGIT_BITS = 11;
const BUCKETS = 1 << DIGIT_BITS;
const LAST = BUCKETS - 1;
/** Digits of a 32-bit half: 11, 11 and 10 bits. */
const SHIFTS = [0, DIGIT_BITS, 2 * DIGIT_BITS] as const;
const SIGN = 0x8000_0000;

/** The items of `before`, ordered by their value in `values`; equals as in `before`. Takes O(n). */
export function stableOrder(values: Float64Array, before: Int32Array): Int32Array {
  let order = before;
  for (const half of halves(values)) {
    // The keys move with their items, so that each pass reads from beginning to end.
    let sorted: Sorted = { items: order, keys: new Uint32Array(order.length) };
    for (let i = 0; i < order.length; i++) sorted.keys[i] = half[order[i]!]!;
    for (const shift of SHIFTS) sorted = byDigit(sorted, shift);
    order = sorted.items;
  }
  return order;
}

/** Items and, at the same index, their sort keys. */
interface Sorted {
  readonly items: Int32Array;
  readonly keys: Uint32Array;
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

/** Reorders them by one digit of the keys. */
function byDigit(before: Sorted, shift: number): Sorted {
  const count = before.keys.length;
  const next = new Int32Array(BUCKETS);
  for (let i = 0; i < count; i++) next[(before.keys[i]! >>> shift) & LAST]! += 1;
  if (count === 0 || next[(before.keys[0]! >>> shift) & LAST] === count) return before;
  toStarts(next);
  const items = new Int32Array(count);
  const keys = new Uint32Array(count);
  for (let i = 0; i < count; i++) {
    const key = before.keys[i]!;
    const at = next[(key >>> shift) & LAST]!++;
    items[at] = before.items[i]!;
    keys[at] = key;
  }
  return { items, keys };
}

/** Where each bucket begins, from the size of each; in place. */
function toStarts(counts: Int32Array): void {
  let start = 0;
  for (let bucket = 0; bucket < counts.length; bucket++) {
    const count = counts[bucket]!;
    counts[bucket] = start;
    start += count;
  }
}

/** 0, 1, 2, … */
export function inOrder(count: number): Int32Array {
  const order = new Int32Array(count);
  for (let i = 0; i < count; i++) order[i] = i;
  return order;
}
