/**
 * Logs from elsewhere: a marker in the log's folder says that it was unpacked there. Such a log reads nothing
 * outside its folder, whatever its records name.
 */
import { existsSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join, relative, resolve } from 'node:path';

const MARKER = 'foreign';

export async function markForeignLog(logFolder: string): Promise<void> {
  await writeFile(
    join(logFolder, MARKER),
    'unpacked here: millrace reads nothing outside this folder\n',
  );
}

/** Whether a log in this folder may read a file or address that its records name. */
export function mayRead(logFolder: string, file: string, isAddress: boolean): boolean {
  if (!existsSync(join(logFolder, MARKER))) return true;
  return !isAddress && !relative(logFolder, resolve(logFolder, file)).startsWith('..');
}
