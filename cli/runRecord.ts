/**
 * `run.json`: what a run is. Written when a run starts, resumes and ends; every other command reads it.
 *
 * It is replaced by a rename, so a reader (or a crash) never meets half of one. A digest of what the run is
 * (job, seed, settings, log) shows if a byte of that has changed; one that was written by hand need not
 * have it. A checksum of the whole spares a record that is as we wrote it the check of its shape.
 */

import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { MillraceError, messageOf, replaceFile } from '../base/index.ts';
import type { RunStatus } from '../summary/facts/index.ts';
import type { RunRecord } from './runRecordSchema.ts';

export type { RunRecord };

const fileName = 'run.json';

/** The record of the run in a folder; null if there is none. */
export async function readRunRecord(folder: string): Promise<RunRecord | null> {
  const path = join(folder, fileName);
  const text = await readFile(path, 'utf8').catch(() => null);
  if (text === null) return null;
  try {
    const given = JSON.parse(text) as RunRecord & { checksum?: string; digest?: string };
    const { checksum, ...known } = given;
    const isOurs = checksum !== undefined && checksum === shortHash(JSON.stringify(known));
    const { checkedRecord } = isOurs
      ? { checkedRecord: null }
      : await import('./runRecordSchema.ts');
    const { digest, ...record } = checkedRecord?.(known) ?? known;
    if (digest === undefined || digest === digestOf(record)) return record;
    throw new Error('its digest does not match job, seed, settings, log and cluster');
  } catch (cause) {
    throw new MillraceError(
      'RUN_RECORD',
      `${path} is damaged (${messageOf(cause)}), but the run's records are not: restore this file from a backup, or delete it and ` +
        'start the run again with the same name, job, seed and settings. If you edited it by ' +
        'hand, remove its "digest"',
      { context: { path }, cause },
    );
  }
}

export async function writeRunRecord(folder: string, record: RunRecord): Promise<void> {
  const path = join(folder, fileName);
  const known = { ...record, digest: digestOf(record) };
  const text = JSON.stringify({ ...known, checksum: shortHash(JSON.stringify(known)) }, null, 2);
  await replaceFile(path, `${text}\n`);
}

/** Of what a run is; how it goes may change. */
function digestOf({ job, seed, settings, log, cluster }: RunRecord): string {
  const known = [job, seed, settings, log ?? null];
  return shortHash(JSON.stringify(cluster === undefined ? known : [...known, cluster]));
}

function shortHash(text: string): string {
  return createHash('sha256').update(text).digest('hex').slice(0, 16);
}

/** The record with its last start ended. */
export function ended(
  record: RunRecord,
  status: Exclude<RunStatus, 'running'>,
  endedMs: number,
  reason = '',
): RunRecord {
  const starts = record.starts.map((start, index) =>
    index === record.starts.length - 1 ? { ...start, endedMs } : start,
  );
  return { ...record, status, starts, reason };
}
