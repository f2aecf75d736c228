/**
 * A start that fails before its first record leaves nothing: the folder it made is removed, so its name or
 * number is free again. A folder that already had something in it stays, as does one that other processes
 * share or that holds the results of steps.
 */
import { existsSync, readdirSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { hasCode } from '../base/index.ts';
import { readRunRecord } from './runRecord.ts';
import type { Run } from './runs.ts';
import { workIn } from './startOver.ts';
import { hasRecords } from './startRun.ts';

/** Starts and runs, and passes errors on. */
export async function leavingNothing<T>(run: Run, start: () => Promise<T>): Promise<T> {
  const isNew = !existsSync(run.folder) || readdirSync(run.folder).length === 0;
  try {
    return await start();
  } catch (error) {
    // A failure to tidy up must not hide why the start failed.
    if (isNew && !hasCode(error, 'LOCKED')) await removeIfEmpty(run).catch(() => undefined);
    throw error;
  }
}

async function removeIfEmpty(run: Run): Promise<void> {
  if (run.part !== undefined) return;
  const written = await readRunRecord(run.folder);
  if (written !== null) {
    const isOurs = written.starts[0]?.startedMs === run.record.starts[0]?.startedMs;
    if (!isOurs || (await hasRecords(run))) return;
  }
  // Missing records do not mean that there were none.
  if ((await workIn(run.folder)) !== null) return;
  await rm(run.folder, { recursive: true, force: true });
}
