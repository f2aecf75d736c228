/**
 * Keyed random draws: a counter-based generator whose numbers depend on their key alone, never on timing.
 *
 * `draws('run', 7, questionId, index)` names a stream; `.uniform(i)` is its i-th number. The key is hashed
 * (FNV-1a over its UTF-8 text in two lanes, then mixed) to a 64-bit Philox key; the numbers are
 * Philox4x32-10 (Salmon et al., 2011, "Parallel random numbers: as easy as 1, 2, 3").
 */

export type DrawKey = string | number;

/**
 * A stream of random numbers. A draw depends only on the stream's key and its index, so draws may be made in
 * any order, or twice.
 */
export interface Draws {
  /** Uniform in [0, 1), with 53 bits. */
  uniform(index: number): number;
  /** Whole number in [0, below). */
  integer(index: number, below: number): number;
  /** A stream of its own under this one. */
  under(...key: readonly DrawKey[]): Draws;
}

const PHILOX_M0 = 0xd2511f53;
const PHILOX_M1 = 0xcd9e8d57;
const PHILOX_W0 = 0x9e3779b9;
const PHILOX_W1 = 0xbb67ae85;

/** High and low 32 bits of a 32x32 product. */
function multiply(a: number, b: number): readonly [high: number, low: number] {
  const aHigh = a >>> 16;
  const aLow = a & 0xffff;
  const bHigh = b >>> 16;
  const bLow = b & 0xffff;
  const low = Math.imul(a, b) >>> 0;
  const middle = aHigh * bLow + ((aLow * bLow) >>> 16);
  const middle2 = aLow * bHigh + (middle & 0xffff);
  const high = (aHigh * bHigh + Math.floor(middle / 65536) + Math.floor(middle2 / 65536)) >>> 0;
  return [high, low];
}

/**
 * Philox4x32-10: four words for a 64-bit key and a 128-bit counter (lowest word first, missing words are 0).
 */
export function philox(
  key: readonly [number, number],
  counter: readonly [number, number, number?, number?],
): readonly [number, number, number, number] {
  let [k0, k1] = key;
  let [c0, c1, c2 = 0, c3 = 0] = counter;
  for (let round = 0; round < 10; round++) {
    const [high0, low0] = multiply(PHILOX_M0, c0);
    const [high1, low1] = multiply(PHILOX_M1, c2);
    c0 = (high1 ^ c1 ^ k0) >>> 0;
    c1 = low1;
    c2 = (high0 ^ c3 ^ k1) >>> 0;
    c3 = low0;
    k0 = (k0 + PHILOX_W0) >>> 0;
    k1 = (k1 + PHILOX_W1) >>> 0;
  }
  return [c0, c1, c2, c3];
}

function mix(value: number): number {
  let h = value >>> 0;
  h = Math.imul(h ^ (h >>> 16), 0x85ebca6b);
  h = Math.imul(h ^ (h >>> 13), 0xc2b2ae35);
  return (h ^ (h >>> 16)) >>> 0;
}

/** Two 32-bit lanes over the key's text; lane two starts elsewhere and uses another multiplier. */
function hash(text: string): readonly [number, number] {
  let a = 0x811c9dc5;
  let b = 0x9747b28c;
  for (const byte of new TextEncoder().encode(text)) {
    a = Math.imul(a ^ byte, 0x01000193);
    b = Math.imul(b ^ byte, 0x85ebca6b) + 0x165667b1;
    b = (b << 13) | (b >>> 19);
  }
  return [mix(a ^ Math.imul(b, 3)), mix(b)];
}

/** The stream of numbers that this key names; ('a', 'bc') and ('ab', 'c') are different keys. */
export function draws(...key: readonly DrawKey[]): Draws {
  const text = JSON.stringify(key);
  const hashed = hash(text);
  return {
    uniform(index) {
      const [a, b] = philox(hashed, [index >>> 0, Math.floor(index / 0x1_0000_0000)]);
      return ((a >>> 5) * 67108864 + (b >>> 6)) / 9007199254740992;
    },
    integer(index, below) {
      return Math.floor(this.uniform(index) * below);
    },
    under(...more) {
      return draws(...key, ...more);
    },
  };
}

/** The items in another order, a keyed Fisher–Yates shuffle; the same key gives the same order. */
export function shuffled<T>(items: readonly T[], ...key: readonly DrawKey[]): T[] {
  const stream = draws(...key);
  const out = [...items];
  for (let i = out.length - 1; i > 0; i--) {
    const j = stream.integer(i, i + 1);
    [out[i], out[j]] = [out[j]!, out[i]!];
  }
  return out;
}
