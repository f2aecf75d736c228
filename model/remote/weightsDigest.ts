/**
 * Checks that weights match their manifest.
 */
import { MillraceError, messageOf } from '../../base/index.ts';
import { digestAt, readingVersion } from '../checkpoints/digest.ts';
import { isLocal } from '../checkpoints/local.ts';
import type { Checkpoint } from '../engine.ts';
import { digestError } from '../hf/digestError.ts';

/**
 * Fails with code `DIGEST` when a local checkpoint does not have the given digest, with `WEIGHTS_REFUSED`
 * when it cannot be read. One without a digest, or in a service, is not checked.
 */
export async function checkDigest(checkpoint: Checkpoint): Promise<void> {
  const { uri, digest } = checkpoint;
  if (digest === null || !isLocal(checkpoint)) return;
  await readingVersion(checkpoint, async () => {
    const found = await digestAt(uri).catch((cause) => {
      throw new MillraceError('WEIGHTS_REFUSED', `${uri} cannot be read: ${messageOf(cause)}`, {
        cause,
      });
    });
    if (found !== digest) throw digestError(uri, digest, found);
  });
}
