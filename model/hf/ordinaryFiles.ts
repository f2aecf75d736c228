/**
 * That what lies in a model's folder are files: reading a named pipe waits for ever, and a device has no end.
 * Asked before anything is read from there.
 */
import { readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { checkpointError } from './checkpointError.ts';

/** Folders below it in which a tokenizer, templates and an encoder have files too. */
const BELOW = 2;

/**
 * Of a file, or of a folder and what lies in it; what is not there is left to whoever reads it. Rejects with
 * code `CHECKPOINT`.
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
