/** Writes a page by a rename, so that a browser never meets half of one. */
import { replaceFile } from '../base/replaceFile.ts';

export async function writePage(path: string, page: string): Promise<void> {
  await replaceFile(path, page);
}
