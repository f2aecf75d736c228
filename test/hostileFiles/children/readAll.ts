/**
 * Reads the hostile files of a group, one after the other, and says of each on a line how it ended and what
 * memory it took.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { MillraceError } from '../../../base/errors.ts';
import { hostileFiles } from '../files.ts';

export interface Ended {
  readonly code: string;
  readonly message: string;
  /** Beyond what the process had before the first file, at most so far. */
  readonly megabytes: number;
}

const peak = () => process.resourceUsage().maxRSS / 1024;
const before = peak();
const folder = mkdtempSync(join(tmpdir(), 'millrace-hostile-'));

async function outcome(read: () => unknown): Promise<Omit<Ended, 'megabytes'>> {
  try {
    await read();
    return { code: 'read', message: '' };
  } catch (error) {
    const code = error instanceof MillraceError ? error.code : (error as Error).constructor.name;
    return { code, message: (error as Error).message };
  }
}

for (const [name, { read }] of Object.entries(hostileFiles[process.argv[2]!]!)) {
  const ended = await outcome(() => read(mkdtempSync(join(folder, 'file-'))));
  const line: Ended & { readonly name: string } = { name, ...ended, megabytes: peak() - before };
  process.stdout.write(`${JSON.stringify(line)}\n`);
}
rmSync(folder, { recursive: true });
