/**
 * Copies an lmdb file as of one moment, even while another process writes it: copying its bytes could catch
 * half of a transaction. The copy has no free pages.
 */
import { open } from 'lmdb';
import { MillraceError } from '../errors.ts';
import { lmdbDamage } from './lmdbFile.ts';

/** Fails with code `DAMAGED`. */
export async function copyLmdb(from: string, to: string): Promise<void> {
  const why = lmdbDamage(from);
  if (why !== null) {
    throw new MillraceError('DAMAGED', `${from} ${why}; to examine the run: millrace doctor RUN`, {
      context: { path: from, why },
    });
  }
  const env = open({ path: from, noSubdir: true, readOnly: true });
  try {
    await env.backup(to, true);
  } finally {
    await env.close();
  }
}
