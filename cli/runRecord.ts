/**
 * `run.json`: what a run is. Written when a run starts, resumes and ends; every other command reads it.
 *
 * It is replaced by a rename, so a reader (or a crash) never meets half of one. A digest of what the run is
 * (job, seed, settings, log) shows if a byte of that has changed; one that was written by hand need not
 * have it.
 */

import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import { MillraceError, messageOf, replaceFile } from '../base/index.ts';
import { type RunStatus, runStatuses } from '../summary/facts/index.ts';

const schema = z.object({
  /** Version of millrace that started it. */
  millrace: z.string(),
  /** `file`: as it was given: the path of a job file, or the name of a ready job. */
  job: z.object({ name: z.string(), file: z.string() }),
  seed: z.number(),
  /** Complete settings, defaults filled in. */
  settings: z.record(z.string(), z.unknown()),
  /**
   * Those that are not the job's defaults, by dotted key: where each was given, and the default. For people.
   */
  changed: z
    .record(z.string(), z.object({ from: z.string(), default: z.unknown().optional() }))
    .optional(),
  /**
   * The preset and the settings file that it was started with, for people: what they say is in `settings`.
   */
  preset: z.string().optional(),
  settingsFile: z.string().optional(),
  status: z.enum(runStatuses),
  /** Every start and resumption; `endedMs` is null while it runs, and forever after a kill. */
  starts: z.array(z.object({ startedMs: z.number(), endedMs: z.number().nullable() })).min(1),
  /** Why it failed; empty otherwise. */
  reason: z.string(),
  /** Where it was forked off, if it was. */
  forked: z.object({ run: z.string(), step: z.number() }).optional(),
  /** The run that it was made over from, and the first topic that is its own. */
  replayed: z.object({ run: z.string(), from: z.string() }).optional(),
  /**
   * Settings that were changed while it went on (`millrace set`): the first step that each holds for, null
   * while that is to come.
   */
  changes: z
    .array(
      z.object({
        setting: z.string(),
        value: z.unknown(),
        by: z.string(),
        askedMs: z.number(),
        step: z.number().nullable(),
      }),
    )
    .optional(),
  /** How much of its large topics stays in the log, and where the rest goes (`--keep-log`). */
  retention: z
    .object({
      bytesMax: z.number().optional(),
      ageMaxMs: z.number().optional(),
      archive: z.string().optional(),
    })
    .optional(),
  /** Where its records are if not in its folder: a Kafka URL without passwords. */
  log: z.string().optional(),
  /** The id of the Kafka cluster that they are on, if it has one. */
  cluster: z.string().optional(),
});
const checked = schema.extend({ digest: z.string().optional() });

export type RunRecord = Readonly<z.infer<typeof schema>>;

const fileName = 'run.json';

/** The record of the run in a folder; null if there is none. */
export async function readRunRecord(folder: string): Promise<RunRecord | null> {
  const path = join(folder, fileName);
  const text = await readFile(path, 'utf8').catch(() => null);
  if (text === null) return null;
  try {
    const { digest, ...record } = checked.parse(JSON.parse(text));
    if (digest === undefined || digest === digestOf(record)) return record;
    throw new Error('its digest does not match job, seed, settings, log and cluster');
  } catch (cause) {
    throw new MillraceError(
      'RUN_RECORD',
      `${path} is damaged (${reasonOf(cause)}), but the run's records are not: restore this file from a backup, or delete it and ` +
        'start the run again with the same name, job, seed and settings. If you edited it by ' +
        'hand, remove its "digest"',
      { context: { path }, cause },
    );
  }
}

export async function writeRunRecord(folder: string, record: RunRecord): Promise<void> {
  const path = join(folder, fileName);
  const text = JSON.stringify({ ...record, digest: digestOf(record) }, null, 2);
  await replaceFile(path, `${text}\n`);
}

/** Of what a run is; how it goes may change. */
function digestOf({ job, seed, settings, log, cluster }: RunRecord): string {
  const known = [job, seed, settings, log ?? null];
  const text = JSON.stringify(cluster === undefined ? known : [...known, cluster]);
  return createHash('sha256').update(text).digest('hex').slice(0, 16);
}

function reasonOf(cause: unknown): string {
  return cause instanceof z.ZodError
    ? `${cause.issues[0]?.path.join('.')}: ${cause.issues[0]?.message}`
    : messageOf(cause);
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
