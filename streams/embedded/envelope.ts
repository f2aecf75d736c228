/**
 * A record as it lies on disk: 8 bytes time, 4 bytes schema number, 4 bytes CRC-32 of all the rest, then Avro.
 *
 * The topmost bit of the schema number says that there is a checksum; records from before there was one are read
 * without. A record whose checksum does not fit is refused: a changed byte must never become a training example.
 */
import zlib from 'node:zlib';
import { MillraceError } from '../../base/errors.ts';

export interface Envelope {
  readonly atMs: number;
  /** Number of the writer's schema in the topic's list. */
  readonly schema: number;
  readonly body: Buffer;
}

/** What to do about a log that is not as it was written. */
export const AFTER_DAMAGE =
  "bytes of the log were changed, or its disk is failing; see what is left of the run with millrace doctor, then restore the run's folder from a backup, or go back to before the damage with millrace rewind";

/** Bytes before the body. */
export const HEADER_BYTES = 16;
const PLAIN_HEADER_BYTES = 12;
const CHECKED = 0x8000_0000;

export function seal({ atMs, schema, body }: Envelope): Buffer {
  const bytes = Buffer.allocUnsafe(HEADER_BYTES + body.length);
  bytes.writeDoubleLE(atMs, 0);
  bytes.writeUInt32LE((schema | CHECKED) >>> 0, 8);
  body.copy(bytes, HEADER_BYTES);
  bytes.writeUInt32LE(checksum(bytes), PLAIN_HEADER_BYTES);
  return bytes;
}

/** `place` is how an error calls it. Fails with code `DAMAGED`. */
export function unseal(bytes: Buffer, place: string): Envelope {
  const whole = bytes.length >= PLAIN_HEADER_BYTES;
  const number = whole ? bytes.readUInt32LE(8) : 0;
  const checked = number >= CHECKED;
  const header = checked ? HEADER_BYTES : PLAIN_HEADER_BYTES;
  if (bytes.length < header || (checked && bytes.readUInt32LE(12) !== checksum(bytes))) {
    throw new MillraceError(
      'DAMAGED',
      `${place} is not what was written: its checksum differs; ${AFTER_DAMAGE}`,
      { context: { place } },
    );
  }
  return {
    atMs: bytes.readDoubleLE(0),
    schema: checked ? number - CHECKED : number,
    body: bytes.subarray(header),
  };
}

function checksum(bytes: Buffer): number {
  return crc32(bytes.subarray(HEADER_BYTES), crc32(bytes.subarray(0, PLAIN_HEADER_BYTES), 0));
}

/** Node has one since 20.15 and 22.2. */
const crc32: (bytes: Buffer, before: number) => number = zlib.crc32 ?? tabled();

function tabled(): (bytes: Buffer, before: number) => number {
  const table = Uint32Array.from({ length: 256 }, (_, byte) => {
    let value = byte;
    for (let bit = 0; bit < 8; bit++) value = (value >>> 1) ^ (value & 1 ? 0xedb8_8320 : 0);
    return value;
  });
  return (bytes, before) => {
    let value = ~before;
    for (const byte of bytes) value = (value >>> 8) ^ table[(value ^ byte) & 0xff]!;
    return ~value >>> 0;
  };
}
