/**
 * A file that is there whole or not at all: written beside its place, and renamed.
 *
 * Holds true: only its owner may read it, and nothing that lies at the name beside it (a link that somebody planted) is written to.
 */
import { rename, rm, writeFile } from 'node:fs/promises';
import { writingTo } from './systemError.ts';

export async function replaceFile(path: string, content: string | Uint8Array): Promise<void> {
  const beside = `${path}.new`;
  // What a crash left; a link is taken away, not followed. If another comes in its place, the exclusive creation fails.
  await rm(beside, { force: true });
  await writingTo(path, () => writeFile(beside, content, { flag: 'wx', mode: 0o600 }));
  await rename(beside, path);
}
