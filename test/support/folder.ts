/** Temporary folders for tests, and their removal. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach } from '@jest/globals';

export function temporaryFolder(): { readonly path: string; remove(): void } {
  const path = mkdtempSync(join(tmpdir(), 'millrace-'));
  return { path, remove: () => rmSync(path, { recursive: true, force: true }) };
}

/** Makes folders that are removed after each test of the file. */
export function freshFolders(): () => string {
  const folders: ReturnType<typeof temporaryFolder>[] = [];
  afterEach(() => {
    for (const folder of folders.splice(0)) folder.remove();
  });
  return () => {
    const folder = temporaryFolder();
    folders.push(folder);
    return folder.path;
  };
}
