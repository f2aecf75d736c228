/**
 * `millrace replay RUN --from TOPIC --set key=value --into NAME`: a new run from the records of another. The
 * same command resumes one that was interrupted.
 */

import { join, resolve } from 'node:path';
import { makeFolder, messageOf } from '../../base/index.ts';
import { counted } from '../../base/text/index.ts';
import type { Job } from '../../jobs/index.ts';
import {
  type Beginning,
  type Lag,
  type Remade,
  remake,
  type ToolMode,
} from '../../jobs/replay/index.ts';
import { openLog } from '../../streams/embedded/index.ts';
import { exitCodes, usageError } from '../failure.ts';
import { interruption } from '../interruption.ts';
import type { Io } from '../io.ts';
import { withLocalLog } from '../localLog.ts';
import { privateFiles } from '../privateFiles.ts';
import { ended, type RunRecord, readRunRecord, writeRunRecord } from '../runRecord.ts';
import { checkedRunName, logFolder, type Run } from '../runs.ts';
import { checkSettings, listedBy, parseSetting } from '../settings.ts';
import { takeKeptFiles } from './keptFiles.ts';

export interface RemakeCommand {
  readonly run: Run;
  readonly job: Job;
  /** The job named on the command line, if any. */
  readonly file?: string | undefined;
  readonly runs: string;
  readonly from: Beginning;
  readonly set: readonly string[];
  readonly into: string;
  readonly tools: ToolMode;
}

/** How long work in flight may take to end after Ctrl-C. */
const graceMs = 60_000;

export async function remakeRun(command: RemakeCommand, io: Io): Promise<number> {
  const { run, into, from } = command;
  const folder = join(resolve(io.cwd, command.runs), checkedRunName(into));
  const record = await recordOf(command, folder, io);
  privateFiles();
  await makeFolder(logFolder(folder));
  await takeKeptFiles(run.folder, folder);
  const log = await openLog({ folder: logFolder(folder), mode: 'write', clock: io.clock });
  const { signal, scratch, release } = interruption(io);
  const finish = (status: 'done' | 'stopped' | 'failed', reason = ''): Promise<void> =>
    writeRunRecord(folder, ended(record, status, io.clock.now(), reason));
  try {
    await writeRunRecord(folder, record);
    io.err(`making run ${into} from the records of ${run.name}, starting at ${from}, in ${folder}`);
    const made = await withLocalLog(run, { io, scratch }, ({ log: recorded }) =>
      remake({
        job: command.job,
        from,
        tools: command.tools,
        run: into,
        folder,
        log,
        recorded,
        seed: record.seed,
        settings: record.settings,
        clock: io.clock,
        graceMs,
        signal,
        print: (line) => io.err(line),
      }),
    );
    await finish(made.end === 'stopped' ? 'stopped' : 'done');
    await tell(command, made, io);
    return exitCodes.done;
  } catch (error) {
    await finish('failed', messageOf(error));
    throw error;
  } finally {
    release();
    await log.close();
  }
}

/** The record of the new run; an existing one with this name must come from the same command. */
async function recordOf(
  { run, job, file: named, from, into, set }: RemakeCommand,
  folder: string,
  io: Io,
): Promise<RunRecord> {
  const help = [listedBy(io.program, run.record.job.file)];
  const settings = checkSettings(job.settings, set.map(parseSetting), run.record.settings, help);
  const start = { startedMs: io.clock.now(), endedMs: null };
  const replayed = { run: run.name, from };
  const known = await readRunRecord(folder);
  const same = (a: unknown, b: unknown): boolean => JSON.stringify(a) === JSON.stringify(b);
  if (known === null) {
    const { millrace, seed } = run.record;
    const file = named ?? run.record.job.file;
    const fresh = { millrace, seed, settings, replayed, job: { name: job.name, file } };
    return { ...fresh, status: 'running', reason: '', starts: [start] };
  }
  if (!same(known.replayed, replayed) || !same(known.settings, settings)) {
    throw usageError(`run ${into} exists with different settings; choose another name with --into`);
  }
  return { ...known, status: 'running', reason: '', starts: [...known.starts, start] };
}

async function tell({ run, into }: RemakeCommand, made: Remade, io: Io): Promise<void> {
  if (made.end === 'stopped') {
    io.err('stopped; repeat the command to resume');
    return;
  }
  await io.out(`${lagText(run.name, made.lag)}\n`);
  io.err(`compare with: millrace diff ${run.name} ${into}`);
}

/** The lag from training on the rollouts of other policies. */
export function lagText(run: string, { sameSteps, steps, mean, max }: Lag): string {
  if (sameSteps === steps) return `${counted(steps, 'step')}, all with the same weights as ${run}`;
  return (
    `${counted(steps, 'step')}; the first ${sameSteps} have the same weights as ${run}, then the runs diverge. ` +
    `The rollouts come from the policies of ${run}: ` +
    `the trained policy was on average ${mean.toFixed(1)} steps, at most ${max}, past the last one that both runs share`
  );
}
