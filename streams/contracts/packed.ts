/**
 * Typed arrays as Avro bytes: little-endian on the wire whatever the host, aligned in memory.
 *
 * A buffer that Avro hands out may begin at any byte, and a typed array may not, so reading copies.
 * Writing does not copy on a little-endian host: the bytes are a view of the array.
 */
import { endianness } from 'node:os';
import avro from 'avsc';

type Order = 'LE' | 'BE';

/** Avro logical types of packed arrays, by the class that they become. */
export const packedTypes = { int32: 'int32-array', float32: 'float32-array' } as const;

/** The little-endian bytes of an array of 4-byte elements on a host of this byte order. */
export function toLittleEndian(
  array: Int32Array | Float32Array,
  host: Order = endianness(),
): Buffer {
  const bytes = Buffer.from(array.buffer, array.byteOffset, array.byteLength);
  return host === 'LE' ? bytes : Buffer.from(bytes).swap32();
}

/**
 * An aligned copy of `bytes` in the host's byte order. Throws RangeError if the length is not a multiple of
 * 4, or if `bytes` is undefined (Avro's way of saying that its buffer ends here).
 */
export function fromLittleEndian(
  bytes: Uint8Array | undefined,
  host: Order = endianness(),
): ArrayBuffer {
  if (bytes === undefined) throw new RangeError('a packed array is cut short');
  if (bytes.byteLength % 4 !== 0) {
    throw new RangeError(`a packed array has ${bytes.byteLength} bytes, not a multiple of 4`);
  }
  const { buffer, byteOffset, byteLength } = bytes;
  const copy = buffer.slice(byteOffset, byteOffset + byteLength) as ArrayBuffer;
  if (host === 'BE') Buffer.from(copy).swap32();
  return copy;
}

class Int32ArrayType extends avro.types.LogicalType {
  protected override _fromValue(bytes: Buffer | undefined): Int32Array {
    return new Int32Array(fromLittleEndian(bytes));
  }

  protected override _toValue(value: unknown): Buffer | undefined {
    return value instanceof Int32Array ? toLittleEndian(value) : undefined;
  }

  protected override _resolve(type: avro.Type): ((value: Int32Array) => Int32Array) | undefined {
    return type instanceof Int32ArrayType ? (value) => value : undefined;
  }
}

class Float32ArrayType extends avro.types.LogicalType {
  protected override _fromValue(bytes: Buffer | undefined): Float32Array {
    return new Float32Array(fromLittleEndian(bytes));
  }

  protected override _toValue(value: unknown): Buffer | undefined {
    return value instanceof Float32Array ? toLittleEndian(value) : undefined;
  }

  protected override _resolve(
    type: avro.Type,
  ): ((value: Float32Array) => Float32Array) | undefined {
    return type instanceof Float32ArrayType ? (value) => value : undefined;
  }
}

/** For avsc's `logicalTypes` option. */
export const packedLogicalTypes = {
  [packedTypes.int32]: Int32ArrayType,
  [packedTypes.float32]: Float32ArrayType,
};
