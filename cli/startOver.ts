/**
 * Keeps a run whose records are gone from silently starting over on top of its weights and metrics. With
 * `--start-over` it starts over and sets them aside.
 */
import { mkdir, readdir, rename, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { MillraceError } from '../base/index.ts';
import { LOCAL_FOLDER } from '../model/checkpoints/index.ts';

/** What steps have left in a run's folder, in words; null if nothing of value. Version 0 is a copy. */
export async function workIn(folder: string): Promise<string | null> {
  const files = await readdir(join(folder, LOCAL_FOLDER)).catch(() => []);
  const made = files.filter(
    (name) => /^\d+\.safetensors$/.test(name) && Number.parseInt(name, 10) > 0,
  );
  if (made.length > 0)
    return `weights of ${made.length === 1 ? 'a version' : `${made.length} versions`}`;
  const { size } = await stat(join(folder, 'metrics.jsonl')).catch(() => ({ size: 0 }));
  return size > 0 ? 'metrics' : null;
}

export interface Beginning {
  readonly name: string;
  readonly folder: string;
  /** Where its records should be: an address, or undefined = in the folder. */
  readonly log: string | undefined;
  readonly startOver: boolean;
}

/** For a run without a record: fails with code `RECORDS_GONE` if it has work, or sets that aside. */
export async function prepareFolder({ name, folder, log, startOver }: Beginning): Promise<void> {
  const work = await workIn(folder);
  if (startOver) return setAside(folder);
  if (work === null) return;
  const where = log === undefined ? join(folder, 'log') : `Kafka at ${log}`;
  throw new MillraceError(
    'RECORDS_GONE',
    `run ${name} has ${work} in ${folder}, but its records are no longer in ${where}. Restore them to resume; or start over ` +
      'under another name with --run NAME, or under this one with --start-over, which sets the old files aside',
    { context: { run: name, folder } },
  );
}

/** Moves everything in the folder to `before-N` in it. */
async function setAside(folder: string): Promise<void> {
  const entries = await readdir(folder).catch(() => []);
  const old = entries.filter((entry) => !/^before-\d+$/.test(entry));
  if (old.length === 0) return;
  const to = join(folder, `before-${entries.length - old.length + 1}`);
  await mkdir(to, { mode: 0o700 });
  for (const entry of old) await rename(join(folder, entry), join(to, entry));
}
