/** Writes a page by a rename, so that a browser never meets half of one. */
import { rename, writeFile } from 'node:fs/promises';

export async function writePage(path: string, page: string): Promise<void> {
  await writeFile(`${path}.new`, page);
  await rename(`${path}.new`, path);
}
