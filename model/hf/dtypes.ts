/**
 * The number formats of checkpoints: float32, float16 and bfloat16, little-endian, widened to float32 and
 * narrowed from it.
 *
 * Narrowing rounds to the nearest, ties to even, as IEEE 754 does; what is too large becomes infinity, and a
 * NaN stays a (quiet) NaN with its sign. Widening is exact.
 */

export type Dtype = 'F32' | 'F16' | 'BF16';

/** The formats by the name that `config.json` (`torch_dtype`) and the command line use. */
export const DTYPES: Readonly<Record<string, Dtype>> = {
  float32: 'F32',
  float16: 'F16',
  bfloat16: 'BF16',
  f32: 'F32',
  f16: 'F16',
  bf16: 'BF16',
};

/** The name of a format in `config.json`. */
export const TORCH_NAMES: Readonly<Record<Dtype, string>> = {
  F32: 'float32',
  F16: 'float16',
  BF16: 'bfloat16',
};

/** Bytes of one number. */
export const WIDTHS: Readonly<Record<Dtype, number>> = { F32: 4, F16: 2, BF16: 2 };

export function isDtype(name: string): name is Dtype {
  return Object.hasOwn(WIDTHS, name);
}

/** Widen 16-bit numbers into `into`, which has as many places. */
export function widen(dtype: 'F16' | 'BF16', words: Uint16Array, into: Float32Array): void {
  const bits = new Uint32Array(into.buffer, into.byteOffset, into.length);
  if (dtype === 'BF16') for (let i = 0; i < words.length; i++) bits[i] = words[i]! << 16;
  else for (let i = 0; i < words.length; i++) bits[i] = widenHalf(words[i]!);
}

/** Narrow float32 numbers into `into`, which has as many places. */
export function narrow(dtype: 'F16' | 'BF16', values: Float32Array, into: Uint16Array): void {
  const bits = new Uint32Array(values.buffer, values.byteOffset, values.length);
  if (dtype === 'BF16') for (let i = 0; i < bits.length; i++) into[i] = narrowBrain(bits[i]!);
  else for (let i = 0; i < bits.length; i++) into[i] = narrowHalf(bits[i]!);
}

/** Bits of a half (5 bits of exponent, 10 of fraction) to the bits of the same number as a single. */
function widenHalf(half: number): number {
  const sign = (half & 0x8000) << 16;
  const exponent = (half >>> 10) & 31;
  const fraction = half & 0x3ff;
  if (exponent === 31) return sign | 0x7f800000 | (fraction << 13);
  if (exponent !== 0) return sign | ((exponent + 112) << 23) | (fraction << 13);
  if (fraction === 0) return sign;
  // subnormal: fraction * 2^-24, so its highest bit, 2^(31 - clz32), becomes the implicit one
  const shift = Math.clz32(fraction) - 21;
  return sign | ((113 - shift) << 23) | (((fraction << shift) & 0x3ff) << 13);
}

/**
 * A bfloat16 is the upper half of a single. Adding just under half of its last place, plus that place, ties
 * to even.
 */
function narrowBrain(single: number): number {
  if ((single & 0x7fffffff) > 0x7f800000) return (single >>> 16) | 0x40;
  return (single + 0x7fff + ((single >>> 16) & 1)) >>> 16;
}

function narrowHalf(single: number): number {
  const sign = (single >>> 16) & 0x8000;
  const size = single & 0x7fffffff;
  if (size > 0x7f800000) return sign | 0x7e00;
  // 65520 and above round to infinity
  if (size >= 0x477ff000) return sign | 0x7c00;
  // 2^-14, the smallest normal half: rebias by 112, then round 13 bits away
  if (size >= 0x38800000) return sign | ((size - 0x38000000 + 0xfff + ((size >>> 13) & 1)) >>> 13);
  // subnormal: the significand in units of 2^-24; 2^-25 and below round to 0
  if (size <= 0x33000000) return sign;
  const shift = 126 - (size >>> 23);
  const significand = (size & 0x7fffff) | 0x800000;
  const whole = significand >>> shift;
  const rest = significand & ((1 << shift) - 1);
  const half = 1 << (shift - 1);
  return sign | (whole + (rest > half || (rest === half && (whole & 1) === 1) ? 1 : 0));
}
