/**
 * JSON with its CRC-32 after it: `{"end":3}#1f2e3d4c`. How far a topic and its groups are must not change
 * with a bit.
 *
 * JSON never ends like that, so JSON from before there were checksums is recognised, and read without one.
 */
import { crc32, MillraceError } from '../../base/index.ts';
import { AFTER_DAMAGE } from './envelope.ts';

export function sealJson(value: unknown): string {
  const json = JSON.stringify(value);
  return `${json}#${checksum(json)}`;
}

/** `place` is what an error calls it. Fails with code `DAMAGED`. */
export function unsealJson(text: string, place: string): unknown {
  const [, json = text, sum] = /^(.*)#([0-9a-f]{8})$/s.exec(text) ?? [];
  try {
    if (sum === undefined || sum === checksum(json)) return JSON.parse(json);
  } catch {
    // no JSON: not what was written either
  }
  throw new MillraceError('DAMAGED', `${place} was changed after it was written; ${AFTER_DAMAGE}`, {
    context: { place },
  });
}

function checksum(json: string): string {
  return crc32(Buffer.from(json), 0).toString(16).padStart(8, '0');
}
