/**
 * `millrace export RUN.rollouts --schema atif`: `<run>.atif.jsonl`, one rollout per line as an ATIF
 * trajectory.
 */
import { createWriteStream } from 'node:fs';
import { rename } from 'node:fs/promises';
import { join, relative } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { about } from '../../base/index.ts';
import { jsonText } from '../../base/terminal/index.ts';
import { counted } from '../../base/text/index.ts';
import { topics } from '../../topics/index.ts';
import { usageError } from '../failure.ts';
import { inScratch } from '../scratch.ts';
import { version } from '../version.ts';
import { atifOf } from './atif.ts';
import { positions } from './positions.ts';
import { sessionRecords } from './sessionRecords.ts';
import type { Place } from './verl.ts';

/** Only for the topic `rollouts`; fails with `USAGE` for others. */
export async function exportAtif(names: readonly string[], place: Place): Promise<void> {
  const { run, log, out, scratch, io } = place;
  if (names.length !== 1 || names[0] !== 'rollouts')
    throw usageError(`--schema atif is for rollouts: ${run.name}.rollouts`);
  const path = join(out, `${run.name}.atif.jsonl`);
  const rollouts = (await positions(log, topics.rollouts, () => '')).get('') ?? [];
  const recordsOf = await sessionRecords(log);
  const from = { run: run.name, job: run.record.job.name, version };
  async function* lines(): AsyncGenerator<string> {
    for (const at of rollouts) {
      const [stored] = await log.fetch(topics.rollouts, [at]);
      const { value } = stored!;
      yield `${jsonText(atifOf(value, await recordsOf(value), from))}\n`;
    }
  }
  await inScratch(scratch, `${path}.tmp`, async () => {
    try {
      await pipeline(Readable.from(lines()), createWriteStream(`${path}.tmp`));
      await rename(`${path}.tmp`, path);
    } catch (error) {
      throw about(path, error);
    }
  });
  await io.out(`${relative(io.cwd, path) || path}: ${counted(rollouts.length, 'rollout')}\n`);
}
