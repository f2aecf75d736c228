/** CRC-32C (Castagnoli), with which Kafka closes a batch of records: eight bytes a step, by eight tables. */
const POLYNOMIAL = 0x82f63b78;

/** Table k says what a byte becomes that is followed by k zero bytes. */
const tables: readonly Int32Array[] = Array.from({ length: 8 }, () => new Int32Array(256));

for (let byte = 0; byte < 256; byte++) {
  let crc = byte;
  for (let bit = 0; bit < 8; bit++) crc = crc & 1 ? (crc >>> 1) ^ POLYNOMIAL : crc >>> 1;
  tables[0]![byte] = crc;
}
for (let k = 1; k < 8; k++) {
  for (let byte = 0; byte < 256; byte++) {
    const before = tables[k - 1]![byte]!;
    tables[k]![byte] = (before >>> 8) ^ tables[0]![before & 0xff]!;
  }
}

const [t0, t1, t2, t3, t4, t5, t6, t7] = tables as readonly [
  ...[Int32Array, Int32Array, Int32Array, Int32Array],
  ...[Int32Array, Int32Array, Int32Array, Int32Array],
];

/** Of the bytes from `from` to `to`, as an unsigned number. */
export function crc32c(bytes: Uint8Array, from = 0, to: number = bytes.length): number {
  let crc = -1;
  let at = from;
  for (; at + 8 <= to; at += 8) {
    crc =
      t7[(crc ^ bytes[at]!) & 0xff]! ^
      t6[((crc >>> 8) ^ bytes[at + 1]!) & 0xff]! ^
      t5[((crc >>> 16) ^ bytes[at + 2]!) & 0xff]! ^
      t4[(crc >>> 24) ^ bytes[at + 3]!]! ^
      t3[bytes[at + 4]!]! ^
      t2[bytes[at + 5]!]! ^
      t1[bytes[at + 6]!]! ^
      t0[bytes[at + 7]!]!;
  }
  for (; at < to; at++) crc = t0[(crc ^ bytes[at]!) & 0xff]! ^ (crc >>> 8);
  return (crc ^ -1) >>> 0;
}
