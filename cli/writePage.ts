/**
 * Writes a page by a rename, so that a browser never sees half of one, and prints where it is. If it cannot
 * be written (a run on a read-only disk) it prints why instead; the command prints the same otherwise.
 * Returns whether it was written.
 */
import { rename, writeFile } from 'node:fs/promises';
import { systemMessage } from '../base/index.ts';
import type { Io } from './io.ts';

export async function writePage(path: string, page: string, io: Io): Promise<boolean> {
  try {
    await writeFile(`${path}.new`, page);
    await rename(`${path}.new`, path);
  } catch (error) {
    const reason = systemMessage(error);
    if (reason === null) throw error;
    io.err(`cannot write the page: ${reason}`);
    return false;
  }
  io.err(`page: ${path}`);
  return true;
}
