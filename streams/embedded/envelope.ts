/**
 * A record as it is on disk: 8 bytes time, 4 bytes schema number, 4 bytes CRC-32 of all the rest, then Avro.
 *
 * The topmost bit of the schema number says that there is a checksum; records from before there was one are
 * read without, unless it turns out that only that bit is missing. A record whose checksum does not fit is
 * refused: a changed byte must never become a value.
 */
import { crc32, MillraceError } from '../../base/index.ts';

export interface Envelope {
  readonly atMs: number;
  /** Number of the writer's schema in the topic's list. */
  readonly schema: number;
  readonly body: Buffer;
}

/** Advice for a log that was changed after it was written. */
export const AFTER_DAMAGE =
  "bytes of the log were changed, or its disk is failing; inspect what survives with millrace doctor, then restore the run's folder from a backup, or go back to before the damage with millrace rewind";

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

/** `place` is what an error calls it. Fails with code `DAMAGED`. */
export function unseal(bytes: Buffer, place: string): Envelope {
  const whole = bytes.length >= PLAIN_HEADER_BYTES;
  const number = whole ? bytes.readUInt32LE(8) : 0;
  const checked = number >= CHECKED;
  const header = checked ? HEADER_BYTES : PLAIN_HEADER_BYTES;
  const changed = checked ? !fits(bytes, number) : fits(bytes, number + CHECKED);
  if (bytes.length < header || changed) {
    throw new MillraceError(
      'DAMAGED',
      `${place} was changed after it was written (its checksum does not match); ${AFTER_DAMAGE}`,
      { context: { place } },
    );
  }
  return {
    atMs: bytes.readDoubleLE(0),
    schema: checked ? number - CHECKED : number,
    body: bytes.subarray(header),
  };
}

/** Whether the checksum matches these bytes with this number; a record without one never matches. */
function fits(bytes: Buffer, number: number): boolean {
  if (bytes.length < HEADER_BYTES) return false;
  const found = bytes.readUInt32LE(PLAIN_HEADER_BYTES);
  if (number === bytes.readUInt32LE(8)) return found === checksum(bytes);
  const renumbered = Buffer.from(bytes);
  renumbered.writeUInt32LE(number, 8);
  return found === checksum(renumbered);
}

function checksum(bytes: Buffer): number {
  return crc32(bytes.subarray(HEADER_BYTES), crc32(bytes.subarray(0, PLAIN_HEADER_BYTES), 0));
}
