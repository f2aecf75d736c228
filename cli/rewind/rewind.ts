/**
 * `millrace rewind RUN --to step=N --into NAME`: a fork with the run's state right after step N, as if it had
 * been killed there. `millrace run` resumes it; with the same settings it reaches the same end.
 *
 * The run itself is only read, even while it is running. The fork is made under a temporary name and then
 * renamed, so it appears as a whole or not at all.
 */

import { readdir, rename } from 'node:fs/promises';
import { basename, dirname, join, resolve } from 'node:path';
import { makeFolder, scratchName } from '../../base/index.ts';
import { forkLog } from '../../streams/embedded/index.ts';
import { recordsOf, type Topic } from '../../streams/index.ts';
import { allTopics, topics, type Weights } from '../../topics/index.ts';
import { exitCodes, usageError } from '../failure.ts';
import { jobOf, takeMark } from '../foreign.ts';
import { stoppable } from '../interruption.ts';
import type { Io } from '../io.ts';
import { type LocalLog, withLocalLog } from '../localLog.ts';
import { privateFiles } from '../privateFiles.ts';
import { type RunRecord, writeRunRecord } from '../runRecord.ts';
import { checkedRunName, findRun, logFolder, type Run } from '../runs.ts';
import { inScratch } from '../scratch.ts';
import { checkSettings, listedBy, parseSetting } from '../settings.ts';
import { forkFiles } from './forkFiles.ts';
import { type Version, versionOfStep, versionsIn } from './steps.ts';

export interface RewindOptions {
  readonly run?: string;
  readonly runs: string;
  /** `step=N`. */
  readonly to: string;
  readonly into: string;
  readonly set: readonly string[];
}

export async function rewindCommand(options: RewindOptions, io: Io): Promise<number> {
  const step = parseStep(options.to);
  const run = await findRun(io, options.runs, options.run);
  const settings = await settingsOf(run, options.set, io);
  const to = await freshFolder(resolve(io.cwd, options.runs), options.into);
  const nowMs = io.clock.now();
  const { log: _, cluster: __, ...begun } = run.record; // the fork's records are in its folder
  const record: RunRecord = {
    ...begun,
    settings,
    status: 'stopped',
    reason: '',
    forked: { run: run.name, step },
    starts: [{ startedMs: nowMs, endedMs: nowMs }],
  };
  await stoppable(io, (scratch) =>
    withLocalLog(run, { io, scratch }, async (past) => {
      const versions = await versionsIn(run.folder, await manifestsIn(past));
      const version = versionOfStep(versions, step, run.name);
      const folder = join(dirname(to), scratchName('fork', basename(to)));
      await inScratch(scratch, folder, async () => {
        await fork({ run, past, to: folder, version, versions });
        await writeRunRecord(folder, record);
        await takeMark(run.folder, folder);
        await rename(folder, to);
      });
    }),
  );
  await io.out(`made run ${options.into} from ${run.name} as of step ${step}\n`);
  io.err(`resume with: millrace run ${record.job.file} --run ${options.into}`);
  return exitCodes.done;
}

async function manifestsIn({ log }: LocalLog): Promise<readonly Weights[]> {
  const manifests: Weights[] = [];
  const from = { kind: 'earliest' } as const;
  for await (const { value } of recordsOf(log, topics.weights, { from })) manifests.push(value);
  return manifests;
}

interface Fork {
  readonly run: Run;
  readonly past: LocalLog;
  readonly to: string;
  readonly version: Version;
  readonly versions: readonly Version[];
}

async function fork({ run, past, to, version, versions }: Fork): Promise<void> {
  privateFiles();
  await makeFolder(logFolder(to));
  const { ends } = await forkLog({
    topics: allTopics,
    from: past.folder,
    to: logFolder(to),
    after: { topic: topics.weights as Topic<unknown>, offset: version.offset },
  });
  await forkFiles({
    run,
    to,
    log: past.log,
    metrics: ends[topics.metrics.name] ?? 0,
    version,
    versions,
  });
}

function parseStep(text: string): number {
  const step = /^step=(\d+)$/.exec(text)?.[1];
  if (step !== undefined) return Number(step);
  throw usageError(
    `--to takes step=N, an optimiser step of the run (0 = before the first); given: ${text}`,
  );
}

/** The run's settings, with overrides checked by the job. */
async function settingsOf(
  run: Run,
  set: readonly string[],
  io: Io,
): Promise<RunRecord['settings']> {
  const { record } = run;
  if (set.length === 0) return record.settings;
  const job = await jobOf(run, undefined, io);
  const help = [listedBy(io.program, record.job.file)];
  return checkSettings(job.settings, set.map(parseSetting), record.settings, help);
}

/** The folder for a run of this name, which must not exist. */
export async function freshFolder(root: string, name: string): Promise<string> {
  const folder = join(root, checkedRunName(name));
  const entries = await readdir(folder).catch(() => []);
  if (entries.length === 0) return folder;
  throw usageError(`run ${name} already exists in ${root}; choose another name with --into`);
}
