/**
 * Runs from elsewhere. An unpacked run is data: it can be inspected, but nothing that it names (a job file,
 * commands of tool servers, addresses) is executed or contacted. `unpack --trust` restores your own run;
 * otherwise the user chooses a job with `--job`.
 */
import { existsSync } from 'node:fs';
import { copyFile, mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import { MillraceError } from '../base/index.ts';
import type { Job } from '../jobs/index.ts';
import { markForeignLog } from '../streams/index.ts';
import type { Io } from './io.ts';
import { loadJob } from './loadJob.ts';
import { logFolder, type Run } from './runs.ts';

/** In the folder of a run from elsewhere; never in a pack. */
export const FOREIGN_FILE = 'foreign.json';

const mark = z.object({ file: z.string(), unpackedMs: z.number() });
type Mark = z.infer<typeof mark>;

/** `file`: the archive that it was unpacked from. */
export async function markForeign(folder: string, from: Mark): Promise<void> {
  await writeFile(join(folder, FOREIGN_FILE), `${JSON.stringify(from)}\n`);
  await markForeignLog(logFolder(folder));
}

/** Whatever is made from a run from elsewhere is from elsewhere too. */
export async function takeMark(from: string, to: string): Promise<void> {
  if (!isForeign(from)) return;
  await copyFile(join(from, FOREIGN_FILE), join(to, FOREIGN_FILE));
  await mkdir(logFolder(to), { recursive: true });
  await markForeignLog(logFolder(to));
}

export function isForeign(folder: string): boolean {
  return existsSync(join(folder, FOREIGN_FILE));
}

/**
 * The job of a run: the one that the user names, otherwise the one in the run's record. Fails with code
 * `FOREIGN` if that would be someone else's choice, and like `loadJob`.
 */
export async function jobOf(
  { name, folder, record }: Pick<Run, 'name' | 'folder' | 'record'>,
  given: string | undefined,
  io: Io,
): Promise<Job> {
  if (given !== undefined || !isForeign(folder)) return loadJob(given ?? record.job.file, io.cwd);
  throw new MillraceError(
    'FOREIGN',
    `run ${name} was unpacked from ${await archiveOf(folder)}, so Millrace executes nothing that it names: choose the job with --job ${record.job.name} or --job FILE; or, if the run is your own, unpack it again with --trust`,
  );
}

/** A run from elsewhere is not resumed. Fails with code `FOREIGN`. */
export async function mustBeOwn({ name, folder }: Pick<Run, 'name' | 'folder'>): Promise<void> {
  if (!isForeign(folder)) return;
  throw new MillraceError(
    'FOREIGN',
    `run ${name} was unpacked from ${await archiveOf(folder)} and can only be inspected: its settings may name someone else's programs and servers. If it is your own, unpack it again with --trust; or start your own run from its weights (--set policy=runs/${name})`,
  );
}

async function archiveOf(folder: string): Promise<string> {
  const text = await readFile(join(folder, FOREIGN_FILE), 'utf8').catch(() => '');
  try {
    return mark.parse(JSON.parse(text)).file;
  } catch {
    return 'an archive';
  }
}
