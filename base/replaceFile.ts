/**
 * Writes a file whole or not at all: next to its place, then renamed.
 *
 * Guarantees: only the owner may read it, and a file or link planted at the temporary name is never written
 * to.
 */
import { rename, rm, writeFile } from 'node:fs/promises';
import { writingTo } from './system/systemError.ts';

export async function replaceFile(path: string, content: string | Uint8Array): Promise<void> {
  const beside = `${path}.new`;
  // A crash's leftover; a link is removed, not followed. If another appears, exclusive creation fails.
  await rm(beside, { force: true });
  await writingTo(path, () => writeFile(beside, content, { flag: 'wx', mode: 0o600 }));
  await rename(beside, path);
}
