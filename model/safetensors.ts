/**
 * safetensors files: named float tensors behind a JSON header, read into float32 and written as float32.
 *
 * Layout: 8 bytes header length (little-endian), the JSON header {name: {dtype, shape, data_offsets}}, the data.
 * F32, BF16 and F16 are read; every offset is checked against shape, type and file before use.
 */
import type { Tensor, Tensors } from './config.ts';

export interface SafetensorsFile {
  readonly tensors: Tensors;
  /** The header's `__metadata__`; empty when there is none. */
  readonly metadata: Readonly<Record<string, string>>;
}

interface Entry {
  readonly dtype: string;
  readonly shape: readonly number[];
  readonly data_offsets: readonly [number, number];
}

const WIDTHS: Readonly<Record<string, number>> = { F32: 4, BF16: 2, F16: 2 };
const HEADER_BYTES_MAX = 100_000_000;

/** The bytes of a file that holds these tensors, in their order. The same input gives the same bytes. */
export function writeSafetensors(
  tensors: Tensors,
  metadata: Readonly<Record<string, string>> = {},
): Uint8Array {
  const header: Record<string, unknown> = { __metadata__: metadata };
  let end = 0;
  for (const [name, { shape, data }] of tensors) {
    header[name] = { dtype: 'F32', shape, data_offsets: [end, end + data.byteLength] };
    end += data.byteLength;
  }
  const json = new TextEncoder().encode(JSON.stringify(header));
  const headerBytes = Math.ceil(json.length / 8) * 8;
  const file = new Uint8Array(8 + headerBytes + end).fill(0x20, 8, 8 + headerBytes);
  new DataView(file.buffer).setBigUint64(0, BigInt(headerBytes), true);
  file.set(json, 8);
  let at = 8 + headerBytes;
  for (const { data } of tensors.values()) {
    file.set(new Uint8Array(data.buffer, data.byteOffset, data.byteLength), at);
    at += data.byteLength;
  }
  return file;
}

/** Read a file's bytes. Throws an error that names the tensor when an entry does not fit. */
export function readSafetensors(file: Uint8Array): SafetensorsFile {
  const { header, data } = split(file);
  const { __metadata__: metadata, ...entries } = header;
  const tensors = new Map<string, Tensor>();
  for (const [name, entry] of Object.entries(entries))
    tensors.set(name, tensor(name, entry as Entry, data));
  return { tensors, metadata: (metadata ?? {}) as Record<string, string> };
}

function split(file: Uint8Array): { header: Record<string, unknown>; data: Uint8Array } {
  const view = new DataView(file.buffer, file.byteOffset, file.byteLength);
  const headerBytes = file.length < 8 ? Number.NaN : Number(view.getBigUint64(0, true));
  if (!(headerBytes <= HEADER_BYTES_MAX && 8 + headerBytes <= file.length))
    throw new Error(`not a safetensors file: its header should have ${headerBytes} bytes`);
  const text = new TextDecoder().decode(file.subarray(8, 8 + headerBytes));
  try {
    return { header: JSON.parse(text), data: file.subarray(8 + headerBytes) };
  } catch (cause) {
    throw new Error('not a safetensors file: its header is not JSON', { cause });
  }
}

function tensor(
  name: string,
  { dtype, shape, data_offsets: offsets }: Entry,
  data: Uint8Array,
): Tensor {
  const width = WIDTHS[dtype];
  if (width === undefined)
    throw new Error(`tensor '${name}' is ${dtype}: convert it to F32, BF16 or F16`);
  const [start, end] = offsets;
  const count = shape.reduce((product, size) => product * size, 1);
  if (!(start >= 0 && end <= data.length && end - start === count * width))
    throw new Error(
      `tensor '${name}' [${shape}] needs ${count * width} bytes, but its offsets are ${start}..${end} of ${data.length}`,
    );
  return { shape, data: widen(dtype, new Uint8Array(data.subarray(start, end)), count) };
}

/** `raw` is a copy of its own, so its buffer is aligned. */
function widen(dtype: string, raw: Uint8Array, count: number): Float32Array {
  if (dtype === 'F32') return new Float32Array(raw.buffer);
  const words = new Uint16Array(raw.buffer);
  if (dtype === 'F16') return Float32Array.from(words, half);
  const widened = new Float32Array(count);
  const bits = new Uint32Array(widened.buffer);
  for (let i = 0; i < count; i++) bits[i] = (words[i] as number) << 16;
  return widened;
}

/** IEEE half precision. */
function half(word: number): number {
  const sign = word & 0x8000 ? -1 : 1;
  const exponent = (word >> 10) & 31;
  const fraction = word & 1023;
  if (exponent === 0) return sign * fraction * 2 ** -24;
  if (exponent === 31) return fraction === 0 ? sign * Number.POSITIVE_INFINITY : Number.NaN;
  return sign * (1 + fraction / 1024) * 2 ** (exponent - 15);
}
