/**
 * Checks that the contents of a model's folder are ordinary files before anything is read: reading a named
 * pipe waits forever, and a device has no end.
 */
import { readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { checkpointError } from './checkpointError.ts';

/** Folders below it in which a tokenizer, templates and an encoder also have files. */
const BELOW = 2;

/**
 * Checks a file, or a folder and its contents; a missing one is left to whoever reads it. Rejects with code
 * `CHECKPOINT`.
 */
export async function mustBeOrdinary(path: string, below = BELOW): Promise<void> {
  const entry = await stat(path).catch(() => null);
  if (entry === null || entry.isFile()) return;
  if (!entry.isDirectory()) {
    throw checkpointError(
      `${path} is neither a file nor a folder (a named pipe, a socket or a device): copy the model again`,
      { file: path },
    );
  }
  if (below === 0) return;
  const names = await readdir(path).catch(() => []);
  for (const name of names) await mustBeOrdinary(join(path, name), below - 1);
}
