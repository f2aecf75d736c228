/**
 * A run of the tiny calibration as the command line leaves one: a folder with its log, its files and
 * `run.json`.
 */
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { type RunRecord, writeRunRecord } from '../../cli/runRecord.ts';
import { type TinyOptions, tinyCalibration, tinySettings } from './tinyCalibration.ts';

/** Job file of tiny runs. */
export const tinyJobFile = 'test/cli/fixtures/tiny.job.ts';

export async function tinyRun(
  runs: string,
  name: string,
  options: Omit<TinyOptions, 'folder'> = {},
  over: Partial<RunRecord> = {},
): Promise<string> {
  const folder = join(runs, name);
  await mkdir(folder, { recursive: true });
  const { end } = await tinyCalibration({ ...options, folder });
  await writeRunRecord(folder, {
    millrace: '0.1.0',
    job: { name: 'tiny', file: tinyJobFile },
    seed: 7,
    settings: { ...tinySettings, ...options.settings },
    status: end === 'quiescent' ? 'done' : 'running',
    starts: [{ startedMs: 0, endedMs: end === 'quiescent' ? 1 : null }],
    reason: '',
    ...over,
  });
  return folder;
}
