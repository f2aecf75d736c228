/**
 * The folder of runs: `<runs>/<NAME>/` holds `run.json`, the log (`log/`) and what the job puts there.
 * A run is found by its name; without one, the newest is taken.
 */
import { mkdir, readdir, rmdir } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { MillraceError, makeFolder, messageOf, systemCode } from '../base/index.ts';
import { type AnyLogOptions, type Log, openAnyLog, type PartNames } from '../streams/index.ts';
import { allTopics } from '../topics/index.ts';
import { usageError } from './failure.ts';
import type { Io } from './io.ts';
import { nearest } from './nearest.ts';
import { privateFiles } from './privateFiles.ts';
import { type RunRecord, readRunRecord } from './runRecord.ts';

export interface Run {
  readonly name: string;
  /** Absolute. */
  readonly folder: string;
  readonly record: RunRecord;
  /**
   * Where its records are, including what the command line added to the address: a password, a worker's name.
   */
  readonly log?: string;
  /** How long to wait for a broker when the log is opened; left out = the log's default. */
  readonly openMs?: number;
  /** Which part of the flow this process runs, and under which name; all of it if absent. */
  readonly part?: RunPart;
}

export interface RunPart extends PartNames {
  readonly worker: string;
}

/** Folder of a run's embedded log. */
export function logFolder(runFolder: string): string {
  return join(runFolder, 'log');
}

/** Opens the log of a run, wherever it is. Passwords missing in its address come from the environment. */
export function openRunLog(
  run: Run,
  options: Omit<AnyLogOptions, 'at' | 'run' | 'env' | 'topics'>,
): Promise<Log> {
  const at = run.log ?? run.record.log ?? logFolder(run.folder);
  const { cluster } = run.record;
  const known = {
    ...(run.part === undefined ? {} : { worker: run.part.worker }),
    ...(run.openMs === undefined ? {} : { openMs: run.openMs }),
    ...(cluster === undefined ? {} : { cluster }),
  };
  const near = { logFolder: logFolder(run.folder) };
  return openAnyLog({
    ...options,
    topics: allTopics,
    ...known,
    ...near,
    at,
    fromFile: run.log === undefined,
    run: run.name,
    env: process.env,
  });
}

/** A run's name is part of `<run>.<topic>` and a folder: no dots, no separators. */
export function checkedRunName(name: string): string {
  if (/^[A-Za-z0-9][A-Za-z0-9_-]*$/.test(name)) return name;
  throw usageError(
    `invalid run name "${name}": use letters, digits, _ and -, starting with a letter or digit`,
  );
}

/** All runs, the newest first. */
export async function listRuns(runsFolder: string, read = readRunRecord): Promise<Run[]> {
  const entries = await readdir(runsFolder, { withFileTypes: true }).catch(() => []);
  const folders = entries.filter((entry) => entry.isDirectory());
  const runs = await Promise.all(
    folders.map(async ({ name }) => {
      const folder = resolve(runsFolder, name);
      const record = await read(folder).catch(() => null);
      return record === null ? [] : [{ name, folder, record }];
    }),
  );
  const startedMs = ({ record }: Run): number => record.starts[0]!.startedMs;
  return runs.flat().sort((a, b) => startedMs(b) - startedMs(a) || a.name.localeCompare(b.name));
}

/** Folders with a `run.json` that cannot be read, and why. */
export async function unreadableRuns(
  runsFolder: string,
  read = readRunRecord,
): Promise<{ readonly name: string; readonly why: string }[]> {
  const entries = await readdir(runsFolder, { withFileTypes: true }).catch(() => []);
  const found = entries
    .filter((entry) => entry.isDirectory())
    .map(({ name }) =>
      read(resolve(runsFolder, name)).then(
        () => [],
        (error: unknown) => [{ name, why: messageOf(error) }],
      ),
    );
  return (await Promise.all(found)).flat();
}

/** Clocks of machines that share a folder differ by less. */
const AHEAD_MAX_MS = 3_600_000;

/** The job of `millrace eval`. */
export const EVALUATION = 'evaluate';

/**
 * The run with this name, or the newest that is not an evaluation. Fails with code `NO_RUN`, listing the runs
 * there are.
 */
export async function findRun(io: Io, runs: string, name: string | undefined): Promise<Run> {
  const root = resolve(io.cwd, runs);
  if (name !== undefined) {
    const folder = join(root, checkedRunName(name));
    const record = await readRunRecord(folder);
    if (record !== null) return { name, folder, record };
  }
  const known = await listRuns(root);
  const nowMs = io.clock.now();
  // An evaluation has to be named, and so does a run dated tomorrow: its record was written elsewhere.
  const isCandidate = ({ record }: Run): boolean =>
    record.job.name !== EVALUATION && record.starts[0]!.startedMs <= nowMs + AHEAD_MAX_MS;
  const newest = known.find(isCandidate) ?? known[0];
  if (name === undefined && newest !== undefined) {
    io.err(`using run ${newest.name}, the newest`);
    return newest;
  }
  throw noRun(root, name, known);
}

function noRun(root: string, name: string | undefined, known: readonly Run[]): MillraceError {
  const names = known.map((run) => run.name);
  const meant = name === undefined ? null : nearest(name, names);
  const hint = meant === null ? '' : ` Did you mean ${meant}?`;
  const listed =
    names.length === 0
      ? `Start one with \`millrace run JOB\`, or give the folder of runs with --runs`
      : `Runs: ${names.slice(0, 20).join(', ')}${names.length > 20 ? ', …' : ''}`;
  const what = name === undefined ? `no runs in ${root}.` : `no run "${name}" in ${root}.`;
  return new MillraceError('NO_RUN', `${what}${hint} ${listed}`, { context: { root, name } });
}

/** First free name `<job>-1`, `<job>-2`, … */
export async function freeRunName(runsFolder: string, job: string): Promise<string> {
  const taken = new Set(await readdir(runsFolder).catch(() => []));
  let number = 1;
  while (taken.has(`${stemOf(job)}-${number}`)) number++;
  return `${stemOf(job)}-${number}`;
}

function stemOf(job: string): string {
  return job.replace(/[^A-Za-z0-9_-]+/g, '-').replace(/^[^A-Za-z0-9]+/, '') || 'run';
}

/**
 * For a new run without a name: creates the folder of the first free one, so that no run started at the same
 * moment takes it too. It is removed again if nothing is put into it.
 */
export async function inFreeFolder<T>(
  runsFolder: string,
  job: string,
  work: (name: string) => Promise<T>,
): Promise<T> {
  privateFiles();
  await makeFolder(runsFolder);
  const name = await claimed(runsFolder, job);
  try {
    return await work(name);
  } finally {
    // Fails if it is not empty.
    await rmdir(join(runsFolder, name)).catch(() => undefined);
  }
}

async function claimed(runsFolder: string, job: string): Promise<string> {
  for (let number = 1; ; number++) {
    const name = `${stemOf(job)}-${number}`;
    try {
      await mkdir(join(runsFolder, name));
      return name;
    } catch (error) {
      if (systemCode(error) !== 'EEXIST') throw error;
    }
  }
}

/** Opens a run's log for reading, even while the run writes it, for as long as `use` takes. */
export async function withLog<T>(
  run: Run,
  use: (log: Log) => Promise<T>,
  options: Pick<AnyLogOptions, 'notice'> = {},
): Promise<T> {
  const log = await openRunLog(run, { ...options, mode: 'read' });
  try {
    return await use(log);
  } finally {
    await log.close();
  }
}
