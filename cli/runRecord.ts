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
import { MillraceError, messageOf, replaceFile } from '../base/index.ts';
import {
  avroCodec,
  choice,
  list,
  map,
  nullable,
  real,
  record,
  type shapes,
  text,
  type ValueOf,
  withDefault,
} from '../streams/contracts/index.ts';
import { type RunStatus, runStatuses } from '../summary/facts/index.ts';

const absent = <T>(shape: shapes.Shape<T>) => withDefault(nullable(shape), null);

/** Checked in every record. Optional fields are null here. */
const shape = record('Run', {
  /** Version of millrace that started it. */
  millrace: text,
  /** `file`: as it was given: the path of a job file, or the name of a ready job. */
  job: record('Job', { name: text, file: text }),
  seed: real,
  /** The preset and the settings file of its start, for people; `settings` has their values. */
  preset: absent(text),
  settingsFile: absent(text),
  status: choice('Status', runStatuses),
  /** Every start and resumption; `endedMs` is null while it runs, and forever after a kill. */
  starts: list(record('Start', { startedMs: real, endedMs: nullable(real) })),
  /** Why it failed; empty otherwise. */
  reason: text,
  /** What it was forked from, if anything. */
  forked: absent(record('Forked', { run: text, step: real })),
  /** The run that it was remade from, and the first topic of its own. */
  replayed: absent(record('Replayed', { run: text, from: text })),
  /** Where its records are if not in its folder: a Kafka URL without passwords. */
  log: absent(text),
  /** The id of the Kafka cluster that they are on, if it has one. */
  cluster: absent(text),
  changed: absent(map(record('Changed', { from: text }))),
  changes: absent(
    list(record('Change', { setting: text, by: text, askedMs: real, step: nullable(real) })),
  ),
  retention: absent(
    record('Retention', { bytesMax: absent(real), ageMaxMs: absent(real), archive: absent(text) }),
  ),
  digest: absent(text),
});
const codec = avroCodec('its record', shape);

type Checked = Omit<ValueOf<typeof shape>, 'changed' | 'changes' | 'retention' | 'digest'>;
type OrLeftOut<T> = {
  readonly [K in keyof T as null extends T[K] ? never : K]: T[K];
} & {
  readonly [K in keyof T as null extends T[K] ? K : never]?: NonNullable<T[K]>;
};

export interface RunRecord extends OrLeftOut<Checked> {
  /** Complete settings, defaults filled in. */
  readonly settings: Readonly<Record<string, unknown>>;
  /** What differs from the job's defaults, by dotted key: where it was given, and the default. */
  readonly changed?: Readonly<
    Record<string, { readonly from: string; readonly default?: unknown }>
  >;
  /**
   * Settings changed during the run (`millrace set`): the first step to which each applies, null while
   * unknown.
   */
  readonly changes?: readonly {
    readonly setting: string;
    readonly value: unknown;
    readonly by: string;
    readonly askedMs: number;
    readonly step: number | null;
  }[];
  /** How much of its large topics stays in the log, and where the rest goes (`--keep-log`). */
  readonly retention?: {
    readonly bytesMax?: number;
    readonly ageMaxMs?: number;
    readonly archive?: string;
  };
}
const fileName = 'run.json';

/** The record of the run in a folder; null if there is none. */
export async function readRunRecord(folder: string): Promise<RunRecord | null> {
  const path = join(folder, fileName);
  const json = await readFile(path, 'utf8').catch(() => null);
  if (json === null) return null;
  try {
    const { digest, ...record } = checked(JSON.parse(json));
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
  const json = JSON.stringify({ ...record, digest: digestOf(record) }, null, 2);
  await replaceFile(path, `${json}\n`);
}

/** Fails with the first fields that are wrong. */
function checked(given: unknown): RunRecord & { readonly digest?: string } {
  codec.encode(given as never);
  const { settings, starts } = given as RunRecord;
  if (typeof settings !== 'object' || settings === null || Array.isArray(settings))
    throw new Error('settings are missing');
  if (starts.length === 0) throw new Error('starts are missing');
  return given as RunRecord;
}

/** Covers what a run is; its progress may change. */
function digestOf({ job, seed, settings, log, cluster }: RunRecord): string {
  const known = [job, seed, settings, log ?? null];
  const json = JSON.stringify(cluster === undefined ? known : [...known, cluster]);
  return createHash('sha256').update(json).digest('hex').slice(0, 16);
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
