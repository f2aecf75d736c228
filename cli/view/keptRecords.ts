/**
 * The records of the runs in a folder, each read again only once its file has changed: the list of hundreds
 * of runs is requested every few seconds.
 */
import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import { type RunRecord, readRunRecord } from '../runRecord.ts';

const KEPT_MAX = 2_000;

interface Kept {
  /** Of its file, which is replaced as a whole. */
  readonly sign: string;
  readonly record: Promise<RunRecord | null>;
}

/** As `readRunRecord`. */
export function keptRecords(): (folder: string) => Promise<RunRecord | null> {
  const kept = new Map<string, Kept>();
  return async (folder) => {
    const file = await stat(join(folder, 'run.json')).catch(() => null);
    if (file === null) return null;
    const sign = `${file.ino} ${file.mtimeMs} ${file.size}`;
    const known = kept.get(folder);
    if (known?.sign === sign) return known.record;
    const record = readRunRecord(folder);
    kept.delete(folder);
    kept.set(folder, { sign, record });
    if (kept.size > KEPT_MAX) kept.delete([...kept.keys()][0]!);
    return record;
  };
}
