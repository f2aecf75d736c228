/**
 * Protobuf's wire format, as far as ONNX needs it: varints, length-delimited fields and 32-bit floats.
 *
 * A message is a list of fields; each field function returns its bytes, and `message` joins them.
 */
const VARINT = 0;
const BYTES = 2;
const FIXED32 = 5;

/** Whole numbers below 2^53; a negative one takes ten bytes, as int64 does. */
function varint(value: number): number[] {
  const bytes: number[] = [];
  let rest = BigInt.asUintN(64, BigInt(value));
  while (rest > 127n) {
    bytes.push(Number(rest & 127n) | 128);
    rest >>= 7n;
  }
  bytes.push(Number(rest));
  return bytes;
}

export function message(fields: readonly Uint8Array[]): Uint8Array {
  const joined = new Uint8Array(fields.reduce((sum, field) => sum + field.length, 0));
  let at = 0;
  for (const field of fields) {
    joined.set(field, at);
    at += field.length;
  }
  return joined;
}

export function integer(field: number, value: number): Uint8Array {
  return Uint8Array.from([...varint((field << 3) | VARINT), ...varint(value)]);
}

export function bytes(field: number, value: Uint8Array): Uint8Array {
  return message([
    Uint8Array.from([...varint((field << 3) | BYTES), ...varint(value.length)]),
    value,
  ]);
}

export function text(field: number, value: string): Uint8Array {
  return bytes(field, new TextEncoder().encode(value));
}

export function float(field: number, value: number): Uint8Array {
  const coded = new Uint8Array(4);
  new DataView(coded.buffer).setFloat32(0, value, true);
  return message([Uint8Array.from(varint((field << 3) | FIXED32)), coded]);
}
