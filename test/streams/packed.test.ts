import { expect, test } from '@jest/globals';
import { fromLittleEndian, toLittleEndian } from '../../streams/contracts/packed.ts';

const bytes = Buffer.from('01000000feffffff', 'hex');
/** What a big-endian host holds in memory for 1 and -2. */
const bigEndianMemory = Buffer.from('00000001fffffffe', 'hex');

test('packed integers are little-endian', () => {
  expect(toLittleEndian(Int32Array.of(1, -2))).toEqual(bytes);
  expect(new Int32Array(fromLittleEndian(bytes))).toEqual(Int32Array.of(1, -2));
});

test('packed floats are IEEE single precision', () => {
  const wire = toLittleEndian(Float32Array.of(-0.5, Infinity));
  expect(wire.toString('hex')).toBe('000000bf0000807f');
  expect(new Float32Array(fromLittleEndian(wire))).toEqual(Float32Array.of(-0.5, Infinity));
});

test('packed bytes at any offset become an aligned array of their own', () => {
  const odd = Buffer.concat([Buffer.of(0), bytes]).subarray(1);
  const array = new Int32Array(fromLittleEndian(odd));
  odd.fill(0);
  expect(array).toEqual(Int32Array.of(1, -2));
});

test('a big-endian host swaps bytes both ways, and leaves its array alone', () => {
  const memory = Buffer.from(bigEndianMemory);
  const array = new Int32Array(new Uint8Array(memory).buffer);
  expect(toLittleEndian(array, 'BE')).toEqual(bytes);
  expect(Buffer.from(array.buffer)).toEqual(bigEndianMemory);
  expect(Buffer.from(fromLittleEndian(bytes, 'BE'))).toEqual(bigEndianMemory);
});

test('a packed field of partial elements is refused', () => {
  expect(() => fromLittleEndian(Buffer.alloc(6))).toThrow(/6 bytes, not a multiple of 4/);
});
