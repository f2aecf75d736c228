/** CRC-32 as in zlib, and CRC-32C (Castagnoli): against accidental damage only. */
import zlib from 'node:zlib';

/** Continues from the checksum of the bytes before. Node has one since 20.15 and 22.2. */
export const crc32: (bytes: Buffer, before: number) => number = zlib.crc32 ?? tabled(0xedb8_8320);

/** CRC-32C: the same with another polynomial. */
export const crc32c: (bytes: Buffer, before: number) => number = tabled(0x82f6_3b78);

function tabled(polynomial: number): (bytes: Buffer, before: number) => number {
  const table = Uint32Array.from({ length: 256 }, (_, byte) => {
    let value = byte;
    for (let bit = 0; bit < 8; bit++) value = (value >>> 1) ^ (value & 1 ? polynomial : 0);
    return value;
  });
  return (bytes, before) => {
    let value = ~before;
    for (const byte of bytes) value = (value >>> 8) ^ table[(value ^ byte) & 0xff]!;
    return ~value >>> 0;
  };
}
