/**
 * `millrace run`: loads a job, runs its flow in a run folder, and says how to go on.
 *
 * The order at the start matters: settings are checked before anything is written, and the log's writer
 * lock is taken before `run.json` is touched, so a second start of a live run changes nothing.
 */
import { hostname } from 'node:os';
import { join, resolve } from 'node:path';
import { hasCode } from '../base/errors.ts';
import type { Job } from '../jobs/defineJob.ts';
import { isKafkaUrl, withoutSecrets } from '../streams/kafka/kafkaUrl.ts';
import { openAnyLog } from '../streams/openAnyLog.ts';
import { executeRun } from './executeRun.ts';
import { exitCodes, usageError } from './failure.ts';
import type { Io } from './io.ts';
import { loadJob } from './loadJob.ts';
import { readRunRecord } from './runRecord.ts';
import { checkedRunName, freeRunName, type RunPart } from './runs.ts';
import { checkSettings, knownSettings, parseSetting } from './settings.ts';
import { startRun } from './startRun.ts';

export interface RunOptions {
  readonly file: string;
  readonly set: readonly string[];
  readonly run?: string;
  readonly seed?: number;
  readonly runs: string;
  /** A Kafka URL: the records lie there and not in the run's folder. */
  readonly log?: string;
  /** Names of stages and sources, with commas: what this process runs, or what it leaves to others. */
  readonly only?: string;
  readonly except?: string;
  /** Name of this process among those that share the run. */
  readonly worker?: string;
  /** List the job's settings instead of running it. */
  readonly settings?: boolean;
}

export async function runCommand(options: RunOptions, io: Io): Promise<number> {
  const job = await loadJob(options.file, io.cwd);
  if (options.settings === true) return listSettings(job, io);
  const root = resolve(io.cwd, options.runs);
  const name = checkedRunName(options.run ?? (await freeRunName(root, job.name)));
  const folder = join(root, name);
  const known = await readRunRecord(folder);
  const request = {
    job,
    file: options.file,
    given: options.set.map(parseSetting),
    seed: options.seed,
    nowMs: io.clock.now(),
    log: options.log === undefined ? undefined : shownLog(options.log),
    part: options.only !== undefined || options.except !== undefined,
  };
  const part = partIn(options);
  const own = {
    ...(options.log === undefined ? {} : { log: options.log }),
    ...(part === null ? {} : { part }),
  };
  if (part !== null && options.log === undefined && known?.log === undefined) {
    throw usageError('processes share a run through Kafka: start it with --log kafka://host:port');
  }
  if (known === null && options.log !== undefined) await mustBeFree(name, options.log);
  const { record, resumed } = await startRun(
    request,
    known === null ? null : { name, folder, record: known, ...own },
  );
  if (resumed && known?.status === 'done') {
    io.err(`run ${name} is already done; see it with: millrace report ${name}${at(options)}`);
    return exitCodes.done;
  }
  io.err(
    `${resumed ? 'resuming' : 'starting'} run ${name} of ${job.name}, seed ${record.seed}, in ${folder}`,
  );
  if (part !== null) io.err(`running a part of it, as worker ${part.worker}`);
  const end = await executeRun({ name, folder, record, ...own }, job, io);
  io.err(
    end === 'stopped'
      ? `stopped; resume with: millrace run ${options.file} --run ${name}${at(options)}`
      : `done; see it with: millrace report ${name}${at(options)}`,
  );
  return exitCodes.done;
}

/** What this process is to run; null: everything, by itself. */
function partIn({ only, except, worker }: RunOptions): RunPart | null {
  if (only === undefined && except === undefined) {
    if (worker === undefined) return null;
    throw usageError('--worker names one of several processes; it goes with --only or --except');
  }
  const names = (list: string): readonly string[] => list.split(',').map((name) => name.trim());
  return {
    ...(only === undefined ? {} : { only: names(only) }),
    ...(except === undefined ? {} : { except: names(except) }),
    // Unlike any other; one that is to be taken over by its successor at once is given a name.
    worker: worker ?? `${hostname().replace(/[^A-Za-z0-9_-]+/g, '-')}-${process.pid}`,
  };
}

/** A run that began elsewhere is not gone on with by chance: here its folder, with the weights, is missing. */
async function mustBeFree(run: string, at: string): Promise<void> {
  const opening = openAnyLog({ at, run, mode: 'read', env: process.env });
  const log = await opening.catch((error: unknown) => {
    if (hasCode(error, 'NO_LOG')) return null;
    throw error;
  });
  if (log === null) return;
  const stats = await log.stats().finally(() => log.close());
  if (stats.every(({ records }) => records === 0)) return;
  throw usageError(
    `this Kafka already has records of a run ${run} whose folder is not here; start another run with --run NAME`,
  );
}

/** The address as it may be written down. */
function shownLog(log: string): string {
  if (isKafkaUrl(log)) return withoutSecrets(log);
  throw usageError(
    '--log takes a Kafka address (kafka://host:port); without it the log is in the run folder',
  );
}

function at({ runs }: RunOptions): string {
  return runs === 'runs' ? '' : ` --runs ${runs}`;
}

async function listSettings(job: Job, io: Io): Promise<number> {
  const defaults = defaultsOf(job);
  const rows = knownSettings(job.settings).map(({ key, about }) => {
    const value = key
      .split('.')
      .reduce<unknown>((v, part) => (v as Record<string, unknown>)?.[part], defaults);
    return [`${key}=${value === undefined ? '' : JSON.stringify(value)}`, about] as const;
  });
  const width = Math.max(0, ...rows.map(([setting]) => setting.length));
  const lines = rows.map(([setting, about]) => `${setting.padEnd(width)}  ${about}`.trimEnd());
  await io.out(`${job.about}\n\n${lines.join('\n')}\n`);
  return exitCodes.done;
}

/** Defaults as far as there are: a job with a required setting has no complete ones. */
function defaultsOf(job: Job): Readonly<Record<string, unknown>> {
  try {
    return checkSettings(job.settings, []);
  } catch {
    return {};
  }
}
