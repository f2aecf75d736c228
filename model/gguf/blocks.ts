/**
 * The number formats of GGUF tensors, decoded to float32 bit for bit as llama.cpp and its `gguf` package do.
 *
 * A quantised tensor is a row of blocks of 32 or 256 numbers, each with a scale (float16) of its own, and for
 * some a minimum. Products of scales and quants are exact in doubles, so each number is rounded once.
 */
import { type Dtype, widen } from '../hf/dtypes.ts';

export interface BlockType {
  readonly name: string;
  /** Numbers in a block. */
  readonly numbers: number;
  /** Bytes of a block. */
  readonly bytes: number;
  /** The format that holds its numbers exactly. */
  readonly dtype: Dtype;
  /** Whole blocks; the bytes begin at the beginning of their buffer. */
  decode(raw: Uint8Array, into: Float32Array): void;
}

/** Readable formats, by their number in a file. */
export const blockTypes: Readonly<Record<number, BlockType>> = {
  0: { name: 'F32', numbers: 1, bytes: 4, dtype: 'F32', decode: single },
  1: { name: 'F16', numbers: 1, bytes: 2, dtype: 'F16', decode: words('F16') },
  2: { name: 'Q4_0', numbers: 32, bytes: 18, dtype: 'F32', decode: q40 },
  3: { name: 'Q4_1', numbers: 32, bytes: 20, dtype: 'F32', decode: q41 },
  8: { name: 'Q8_0', numbers: 32, bytes: 34, dtype: 'F32', decode: q80 },
  12: { name: 'Q4_K', numbers: 256, bytes: 144, dtype: 'F32', decode: q4k },
  14: { name: 'Q6_K', numbers: 256, bytes: 210, dtype: 'F32', decode: q6k },
  30: { name: 'BF16', numbers: 1, bytes: 2, dtype: 'BF16', decode: words('BF16') },
};

/** Formats that are not supported, for messages. */
const OTHERS: Readonly<Record<number, string>> = {
  ...{ 6: 'Q5_0', 7: 'Q5_1', 9: 'Q8_1', 10: 'Q2_K', 11: 'Q3_K', 13: 'Q5_K', 15: 'Q8_K' },
  ...{ 16: 'IQ2_XXS', 17: 'IQ2_XS', 18: 'IQ3_XXS', 19: 'IQ1_S', 20: 'IQ4_NL', 21: 'IQ3_S' },
  ...{ 22: 'IQ2_S', 23: 'IQ4_XS', 24: 'I8', 25: 'I16', 26: 'I32', 27: 'I64', 28: 'F64' },
  ...{ 29: 'IQ1_M', 34: 'TQ1_0', 35: 'TQ2_0', 39: 'MXFP4', 40: 'NVFP4', 41: 'Q1_0' },
};

export function typeName(id: number): string {
  return OTHERS[id] ?? `of the unknown type ${id}`;
}

let table: Float32Array | undefined;

/** All float16 numbers by their bits. */
function halves(): Float32Array {
  if (table === undefined) {
    table = new Float32Array(65_536);
    widen('F16', Uint16Array.from(table.keys()), table);
  }
  return table;
}

function single(raw: Uint8Array, into: Float32Array): void {
  new Uint8Array(into.buffer, into.byteOffset, into.byteLength).set(raw);
}

function words(dtype: 'F16' | 'BF16') {
  return (raw: Uint8Array, into: Float32Array): void =>
    widen(dtype, new Uint16Array(raw.buffer, raw.byteOffset, raw.length / 2), into);
}

/** The float16 at a byte offset. */
function halfAt(half: Float32Array, raw: Uint8Array, at: number): number {
  return half[raw[at]! | (raw[at + 1]! << 8)]!;
}

/** Scale; then 32 signed bytes. */
function q80(raw: Uint8Array, into: Float32Array): void {
  const half = halves();
  const signed = new Int8Array(raw.buffer, raw.byteOffset, raw.length);
  for (let at = 0, out = 0; at < raw.length; at += 34, out += 32) {
    const scale = halfAt(half, raw, at);
    for (let i = 0; i < 32; i++) into[out + i] = scale * signed[at + 2 + i]!;
  }
}

/** Scale; then 16 bytes, whose low halves are the first 16 numbers. A half means itself less 8. */
function q40(raw: Uint8Array, into: Float32Array): void {
  const half = halves();
  for (let at = 0, out = 0; at < raw.length; at += 18, out += 32) {
    const scale = halfAt(half, raw, at);
    for (let i = 0; i < 16; i++) {
      const both = raw[at + 2 + i]!;
      into[out + i] = scale * ((both & 15) - 8);
      into[out + 16 + i] = scale * ((both >> 4) - 8);
    }
  }
}

/** Scale, minimum; then 16 bytes as in Q4_0. */
function q41(raw: Uint8Array, into: Float32Array): void {
  const half = halves();
  for (let at = 0, out = 0; at < raw.length; at += 20, out += 32) {
    const scale = halfAt(half, raw, at);
    const least = halfAt(half, raw, at + 2);
    for (let i = 0; i < 16; i++) {
      const both = raw[at + 4 + i]!;
      into[out + i] = scale * (both & 15) + least;
      into[out + 16 + i] = scale * (both >> 4) + least;
    }
  }
}

/** Scale, scale of minima; 12 bytes with eight scales and minima of 6 bits; 128 bytes of two numbers. */
function q4k(raw: Uint8Array, into: Float32Array): void {
  const half = halves();
  for (let at = 0, out = 0; at < raw.length; at += 144, out += 256) {
    const d = halfAt(half, raw, at);
    const least = halfAt(half, raw, at + 2);
    for (let group = 0; group < 8; group++) {
      const scale = d * sixBits(raw, at + 4, group, 0);
      const minimum = least * sixBits(raw, at + 4, group, 1);
      const from = at + 16 + (group >> 1) * 32;
      const shift = (group & 1) * 4;
      for (let i = 0; i < 32; i++)
        into[out + group * 32 + i] = scale * ((raw[from + i]! >> shift) & 15) - minimum;
    }
  }
}

/**
 * The scale (`which` = 0) or minimum (1) of a group, from the 12 bytes at `at`. Groups 0 to 3 have theirs in
 * the low six bits of a byte; the others have four bits in the last four bytes, and two above those.
 */
function sixBits(raw: Uint8Array, at: number, group: number, which: 0 | 1): number {
  const first = raw[at + 4 * which + (group & 3)]!;
  if (group < 4) return first & 63;
  return ((raw[at + 4 + group]! >> (4 * which)) & 15) | ((first >> 6) << 4);
}

/** 128 bytes with the low four bits, 64 with the high two, sixteen signed scales, scale of all. */
function q6k(raw: Uint8Array, into: Float32Array): void {
  const half = halves();
  const signed = new Int8Array(raw.buffer, raw.byteOffset, raw.length);
  for (let at = 0, out = 0; at < raw.length; at += 210, out += 256) {
    const d = halfAt(half, raw, at + 208);
    for (let i = 0; i < 256; i++) {
      // of each half of a block: 32 × (low, low), then 32 × (high, high), over the same 64 bytes
      const part = i >> 7;
      const low = raw[at + part * 64 + (i & 63)]! >> ((i >> 4) & 4);
      const high = raw[at + 128 + part * 32 + (i & 31)]! >> ((i >> 4) & 6);
      const quant = ((low & 15) | ((high & 3) << 4)) - 32;
      into[out + i] = d * signed[at + 192 + (i >> 4)]! * quant;
    }
  }
}
