/**
 * The SHA-256 of a file, read in pieces. It blocks its thread until done: for a thread with nothing else to
 * do (rollout/digestWorker.ts).
 */
import { createHash } from 'node:crypto';
import { closeSync, openSync, readSync } from 'node:fs';

/** Small enough to stay in a core's cache between reading and hashing. */
const PIECE_BYTES = 1 << 18;

export function fileDigest(path: string): string {
  const hash = createHash('sha256');
  const piece = Buffer.allocUnsafe(PIECE_BYTES);
  const file = openSync(path, 'r');
  try {
    for (;;) {
      const bytes = readSync(file, piece);
      if (bytes === 0) return hash.digest('hex');
      hash.update(piece.subarray(0, bytes));
    }
  } finally {
    closeSync(file);
  }
}
