/**
 * Weights that are what their manifest says.
 */
import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { MillraceError, messageOf } from '../../base/errors.ts';
import type { WeightsRef } from '../engine.ts';

/** Fails with code `WEIGHTS_REFUSED` when the file cannot be read or has another digest. */
export async function checkDigest({ path, sha256 }: WeightsRef): Promise<void> {
  const hash = createHash('sha256');
  try {
    for await (const chunk of createReadStream(path)) hash.update(chunk as Buffer);
  } catch (error) {
    throw new MillraceError('WEIGHTS_REFUSED', `${path} cannot be read: ${messageOf(error)}`, {
      cause: error,
    });
  }
  const found = hash.digest('hex');
  if (found === sha256) return;
  throw new MillraceError(
    'WEIGHTS_REFUSED',
    `${path} has digest ${found}, not ${sha256}: it was changed or cut short`,
  );
}
