/**
 * `run.json`: what a run is. Written when a run starts, resumes and ends; every other command reads it.
 *
 * It is replaced by a rename, so a reader (or a crash) never meets half of one.
 */
import { readFile, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import { MillraceError } from '../streams/errors.ts';

export const runStatuses = ['running', 'done', 'stopped', 'failed'] as const;
export type RunStatus = (typeof runStatuses)[number];

const schema = z.object({
  /** Version of millrace that started it. */
  millrace: z.string(),
  job: z.object({ name: z.string(), file: z.string() }),
  seed: z.number(),
  /** Complete settings, defaults filled in. */
  settings: z.record(z.string(), z.unknown()),
  status: z.enum(runStatuses),
  /** Every start and resumption; `endedMs` is null while it runs, and for ever after a kill. */
  starts: z.array(z.object({ startedMs: z.number(), endedMs: z.number().nullable() })).min(1),
  /** Why it failed; empty otherwise. */
  reason: z.string(),
});

export type RunRecord = Readonly<z.infer<typeof schema>>;

const fileName = 'run.json';

/** The record of the run in a folder; null where there is none. */
export async function readRunRecord(folder: string): Promise<RunRecord | null> {
  const path = join(folder, fileName);
  const text = await readFile(path, 'utf8').catch(() => null);
  if (text === null) return null;
  try {
    return schema.parse(JSON.parse(text));
  } catch (cause) {
    throw new MillraceError(
      'RUN_RECORD',
      `${path} is damaged; restore it or delete the run's folder`,
      {
        context: { path },
        cause,
      },
    );
  }
}

export async function writeRunRecord(folder: string, record: RunRecord): Promise<void> {
  const path = join(folder, fileName);
  await writeFile(`${path}.new`, `${JSON.stringify(record, null, 2)}\n`);
  await rename(`${path}.new`, path);
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
