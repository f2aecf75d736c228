/** Folders that a command works in: removed when it ends, even when it fails or is stopped at once. */
import { rmSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { dirname } from 'node:path';
import { leftoversIn, removeLeftovers } from '../base/index.ts';

/** The existing ones. */
export type Scratch = Set<string>;

/**
 * Lasts as long as `work` takes; what it has moved elsewhere stays. Also removes leftovers of killed
 * commands.
 */
export async function inScratch<T>(
  scratch: Scratch,
  folder: string,
  work: () => Promise<T>,
): Promise<T> {
  scratch.add(folder);
  try {
    await removeLeftovers(await leftoversIn(dirname(folder), 'scratch'));
    return await work();
  } finally {
    // Work that was given up may still be writing.
    await rm(folder, { recursive: true, force: true, maxRetries: 5 });
    scratch.delete(folder);
  }
}

/** Called before the process ends; writes by its other threads do not keep it from ending. */
export function removeNow(scratch: Scratch): void {
  for (const folder of scratch) {
    try {
      rmSync(folder, { recursive: true, force: true, maxRetries: 3 });
    } catch {
      // It ends anyway.
    }
  }
}
