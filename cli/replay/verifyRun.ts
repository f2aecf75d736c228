/**
 * `millrace replay RUN --verify`: recomputes a run from its records and compares every record with the
 * recorded one.
 *
 * It opens the run read-only and works in a scratch folder next to it (in the system's temporary folder if
 * runs cannot be written), which is removed at the end. Exit code 1 at the first difference.
 */

import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { canWrite, makeFolder, scratchName } from '../../base/index.ts';
import { table } from '../../base/terminal/index.ts';
import { counted } from '../../base/text/index.ts';
import type { Job } from '../../jobs/index.ts';
import { type Verified, verify } from '../../jobs/replay/index.ts';
import { openLog } from '../../streams/embedded/index.ts';
import { exitCodes } from '../failure.ts';
import { type Interruption, interruption } from '../interruption.ts';
import type { Io } from '../io.ts';
import { withLocalLog } from '../localLog.ts';
import { privateFiles } from '../privateFiles.ts';
import { logFolder, type Run } from '../runs.ts';
import { inScratch } from '../scratch.ts';
import { checkSettings } from '../settings.ts';
import { differenceText } from './differenceText.ts';
import { takeKeptFiles } from './keptFiles.ts';
import { noteVerified, type VerifiedNote } from './verified.ts';

export interface VerifyCommand {
  readonly run: Run;
  readonly job: Job;
  readonly runs: string;
}

export async function verifyRun({ run, job, runs }: VerifyCommand, io: Io): Promise<number> {
  const { name, record } = run;
  const beside = resolve(io.cwd, runs);
  const place = (await canWrite(beside)) ? beside : tmpdir();
  const folder = join(place, scratchName('verify', name));
  const interrupted = interruption(io, 'stopping; press Ctrl-C again to stop at once');
  io.err(`replaying run ${name} of ${record.job.name} from its records; no tool is called`);
  try {
    const found = await inScratch(interrupted.scratch, folder, () =>
      verifyIn(folder, { run, job, interrupted }, io),
    );
    await noteVerified(run.folder, noteOf(found, io));
    return await report(name, found, io);
  } finally {
    interrupted.release();
  }
}

interface Verifying extends Pick<VerifyCommand, 'run' | 'job'> {
  readonly interrupted: Interruption;
}

async function verifyIn(
  folder: string,
  { run, job, interrupted: { signal, scratch: folders } }: Verifying,
  io: Io,
): Promise<Verified> {
  privateFiles();
  await makeFolder(logFolder(folder));
  await takeKeptFiles(run.folder, folder);
  const scratch = await openLog({ folder: logFolder(folder), mode: 'write', clock: io.clock });
  const { seed, settings } = run.record;
  try {
    return await withLocalLog(run, { io, scratch: folders }, ({ log: recorded, ahead }) =>
      verify({
        ...(ahead === undefined ? {} : { ahead }),
        job,
        recorded,
        scratch,
        folder,
        run: run.name,
        seed,
        clock: io.clock,
        signal,
        settings: checkSettings(job.settings, [], settings),
        print: (line) => io.err(line),
      }),
    );
  } finally {
    await scratch.close();
  }
}

function noteOf({ difference, equal, stopped }: Verified, io: Io): VerifiedNote {
  const records = Object.values(equal).reduce((sum, count) => sum + count, 0);
  const text =
    difference !== null
      ? `The replay differs from the record: ${differenceText(difference, ['recorded', 'now'])}`
      : stopped
        ? 'Stopped; everything compared so far is equal.'
        : 'The replay is equal to the record, bit for bit.';
  return { atMs: io.clock.now(), ok: difference === null, records, text };
}

async function report(name: string, found: Verified, io: Io): Promise<number> {
  const { difference, equal, stopped, weights } = found;
  if (difference !== null) {
    const text = differenceText(difference, ['recorded', 'now']);
    await io.out(`the replay of run ${name} differs from its record. First difference:\n${text}\n`);
    return exitCodes.failed;
  }
  const rows = Object.entries(equal).map(([topic, count]) => [topic, String(count)]);
  await io.out(`${table([['topic', 'equal'], ...rows], ['left', 'right'])}\n`);
  await io.out(
    stopped
      ? `stopped; everything compared so far is equal\n`
      : `the replay of run ${name} is equal to its record, bit for bit: every record, and the digests of ${counted(weights, 'weights file')}\n`,
  );
  return exitCodes.done;
}
