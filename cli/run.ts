/**
 * `millrace run`: loads a job, runs its flow in a run folder, and says how to continue.
 *
 * The order at the start matters: settings are checked before anything is written, and the log's writer
 * lock is taken before `run.json` is touched, so a second start of a live run changes nothing.
 */
import { existsSync } from 'node:fs';
import { hostname } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { hasCode, messageOf, nameHosts } from '../base/index.ts';
import type { Job } from '../jobs/index.ts';
import { isAddress } from '../streams/archive/index.ts';
import { hostsIn, isKafkaUrl, shownAddress } from '../streams/foreign/index.ts';
import { openAnyLog } from '../streams/index.ts';
import type { FlowEnd } from '../streams/run/index.ts';
import { allTopics } from '../topics/index.ts';
import { checkStart } from './checkStart.ts';
import { executeRun } from './executeRun.ts';
import { leavingNothing } from './failedStart.ts';
import { exitCodes, usageError } from './failure.ts';
import { mustBeOwn } from './foreign.ts';
import { type GivenFlags, givenSettings } from './givenSettings.ts';
import type { Io } from './io.ts';
import { listJobs } from './listJobs.ts';
import { loadJob } from './loadJob.ts';
import { type MetricsFlags, metricsAddress } from './metrics/flags.ts';
import { exportRun, noExporter } from './metrics/runExporter.ts';
import { asTyped } from './programName.ts';
import { type RunOutput, runOutput } from './progress/runOutput.ts';
import { type RetentionFlags, retentionOf } from './retention/retention.ts';
import { type RunRecord, readRunRecord } from './runRecord.ts';
import { checkedRunName, inFreeFolder, logFolder, type Run, type RunPart } from './runs.ts';
import { checkSettings, type Setting } from './settings.ts';
import { showPrompt } from './showPrompt.ts';
import { showSettings } from './showSettings.ts';
import { workerOf } from './startGuard.ts';
import { prepareFolder } from './startOver.ts';
import { startRun } from './startRun.ts';
import { noPage, pageBeside } from './view/besideRun.ts';

export interface RunOptions extends GivenFlags, MetricsFlags, RetentionFlags {
  /** Name of a ready job, or a job file; may be left out if a run is resumed. */
  readonly file?: string;
  readonly run?: string;
  readonly seed?: number;
  readonly runs: string;
  /** A Kafka URL, if the records go there instead of the run's folder. */
  readonly log?: string;
  /** Names of stages and sources, comma-separated: what this process runs, or leaves to others. */
  readonly only?: string;
  readonly except?: string;
  /** Name of this process among those that share the run. */
  readonly worker?: string;
  /** Start over if the records are gone; the run's files are set aside. */
  readonly startOver?: boolean;
  /** Show the job's settings instead of running it; true = as YAML. */
  readonly showSettings?: boolean | 'yaml' | 'json';
  /** Show the policy's prompt, or write it to a file, instead of running the job. */
  readonly showPrompt?: true | string;
  /** Check whether the job can start, instead of running it. */
  readonly check?: boolean;
  /** Print only problems, or print JSON on stdout. */
  readonly quiet?: boolean;
  readonly json?: boolean;
  /** Serve the live page meanwhile: true = on the usual port. */
  readonly page?: true | number;
  /** List jobs and presets instead of running any. */
  readonly list?: boolean;
}

export async function runCommand(options: RunOptions, io: Io): Promise<number> {
  if (options.list === true) return listJobs(io);
  const root = resolve(io.cwd, options.runs);
  const begun = options.run === undefined ? null : await recordOf(root, options.run);
  if (begun !== null && options.run !== undefined)
    await mustBeOwn({ name: options.run, folder: join(root, options.run) });
  const file = options.file ?? begun?.job.file;
  if (file === undefined) {
    throw usageError(
      'name a job: a file, or one of those that millrace run --list shows; or resume a run with --run NAME',
    );
  }
  const job = await loadJob(file, io.cwd);
  const given = await givenSettings(job, options, io);
  if (options.showSettings) return shown(job, { ...options, file, given }, io);
  if (options.showPrompt !== undefined) {
    const settings = checkSettings(job.settings, given, begun?.settings);
    const seed = options.seed ?? begun?.seed ?? 1;
    const whose =
      begun === null || given.length > 0 ? {} : { begun: join(root, options.run ?? '') };
    return showPrompt({ job, settings, seed, runs: root, ...whose }, options.showPrompt, io);
  }
  if (options.check === true) {
    const settings = checkSettings(job.settings, given, begun?.settings);
    return checkStart({ job, settings, seed: options.seed ?? begun?.seed ?? 1, runs: root }, io);
  }
  const start = { job, file, given, begun, root };
  if (options.run !== undefined) return runAs(checkedRunName(options.run), start, options, io);
  checkSettings(job.settings, given);
  return inFreeFolder(root, job.name, (name) => runAs(name, start, options, io));
}

/** The inputs of a start, except for its name. */
interface Start {
  readonly job: Job;
  readonly file: string;
  readonly given: readonly Setting[];
  /** Of the run of this name, if it has begun. */
  readonly begun: RunRecord | null;
  readonly root: string;
}

async function runAs(
  name: string,
  { job, file, given, begun, root }: Start,
  options: RunOptions,
  io: Io,
): Promise<number> {
  const folder = join(root, name);
  nameGiven(options);
  const request = {
    job,
    file,
    given,
    preset: options.preset,
    settingsFile: options.settings,
    seed: options.seed,
    nowMs: io.clock.now(),
    log: options.log === undefined ? undefined : shownLog(options.log),
    part: options.only !== undefined || options.except !== undefined,
    startOver: options.startOver === true,
  };
  const part = partIn(options);
  const own = {
    ...(options.log === undefined ? {} : { log: options.log }),
    ...(part === null ? {} : { part }),
    // The broker has answered before, so the address is right.
    ...(begun === null ? {} : { openMs: BROKER_BACK_MS }),
  };
  if (part !== null && options.log === undefined && begun?.log === undefined) {
    throw usageError(
      'processes can only share a run on Kafka: start it with --log kafka://host:port',
    );
  }
  if (begun === null && options.log !== undefined) await mustBeFree(name, options.log);
  if (
    begun === null &&
    (options.log !== undefined || !existsSync(join(logFolder(folder), 'log.mdb')))
  ) {
    await prepareFolder({ name, folder, log: request.log, startOver: request.startOver });
  }
  const kept = retentionOf(options, io.cwd);
  const started = await startRun(
    request,
    begun === null ? null : { name, folder, record: begun, ...own },
    (line) => io.err(line),
  );
  const { resumed } = started;
  const record = kept === null ? started.record : { ...started.record, retention: { ...kept } };
  const output = runOutput(options, io);
  if (resumed && begun?.status === 'done') {
    output.tell('end', { run: name, end: 'done', folder });
    output.say(`run ${name} is already done; see it with: millrace report ${name}`);
    return exitCodes.done;
  }
  const { seed } = record;
  output.tell('start', { run: name, job: job.name, seed, folder, resumed });
  output.say(
    `${resumed ? 'resuming' : 'starting'} run ${name} of ${job.name}, seed ${seed}, in ${folder}`,
  );
  if (options.preset !== undefined) output.say(presetLine(job, options.preset));
  if (part !== null) output.say(`running part of it as worker ${part.worker}`);
  const run = { name, folder, record, ...own };
  const end = await leavingNothing(run, () => executed(run, job, options, io, output)).catch(
    (error: unknown) => {
      output.tell('end', { run: name, end: 'failed', reason: messageOf(error), folder });
      throw error;
    },
  );
  output.tell('end', { run: name, end: end === 'stopped' ? 'stopped' : 'done', folder });
  output.say(
    end === 'stopped'
      ? `stopped; resume with: millrace run ${file} --run ${name}`
      : `done; see it with: millrace report ${name}`,
  );
  return exitCodes.done;
}

/** How long a resumed run waits for its broker when it starts. */
const BROKER_BACK_MS = 5 * 60_000;

/** Runs it to its end, with its numbers for Prometheus and its page if requested. */
async function executed(
  run: Run,
  job: Job,
  options: RunOptions,
  io: Io,
  output: RunOutput,
): Promise<FlowEnd> {
  const address = metricsAddress(options);
  const about = { run: run.name, worker: workerOf(run), facts: run.record, clock: io.clock };
  const exporter = address === null ? noExporter : await exportRun(address, about);
  if (exporter.url !== null) output.say(`metrics at ${exporter.url}`);
  const page =
    options.page === undefined
      ? noPage
      : pageBeside({
          run: run.name,
          runs: dirname(run.folder),
          port: options.page === true ? undefined : options.page,
          said: (line) => output.say(line),
        });
  return executeRun(run, job, io, { exporter, output }).finally(async () => {
    await exporter.close();
    await page.close();
  });
}

/** Addresses typed here may get credentials from the environment. */
function nameGiven({ log, archive }: RunOptions): void {
  if (log !== undefined && isKafkaUrl(log)) nameHosts(hostsIn(log));
  if (archive !== undefined && isAddress(archive)) nameHosts([new URL(archive).host]);
}

/** The part that this process runs; null: everything, alone. */
function partIn({ only, except, worker }: RunOptions): RunPart | null {
  if (only === undefined && except === undefined) {
    if (worker === undefined) return null;
    throw usageError('--worker names one of several processes and needs --only or --except');
  }
  const names = (list: string): readonly string[] => list.split(',').map((name) => name.trim());
  return {
    ...(only === undefined ? {} : { only: names(only) }),
    ...(except === undefined ? {} : { except: names(except) }),
    // A unique name; to be replaced by a successor at once, a process needs a name of its own.
    worker: worker ?? `${hostname().replace(/[^A-Za-z0-9_-]+/g, '-')}-${process.pid}`,
  };
}

/** Does not resume a run that began elsewhere by accident: its folder, with the weights, is missing here. */
async function mustBeFree(run: string, at: string): Promise<void> {
  const opening = openAnyLog({ topics: allTopics, at, run, mode: 'read', env: process.env });
  const log = await opening.catch((error: unknown) => {
    if (hasCode(error, 'NO_LOG')) return null;
    throw error;
  });
  if (log === null) return;
  const stats = await log.stats().finally(() => log.close());
  if (stats.every(({ records }) => records === 0)) return;
  throw usageError(
    `this Kafka cluster already has records of a run ${run}, whose folder is elsewhere; choose another name with --run NAME`,
  );
}

/** The address in the form that may be recorded. */
function shownLog(log: string): string {
  if (isKafkaUrl(log)) return shownAddress(log);
  throw usageError(
    '--log takes a Kafka address (kafka://host:port); without it the log is in the run folder',
  );
}

/** The run of this name, if there is one. */
function recordOf(root: string, run: string): Promise<RunRecord | null> {
  return readRunRecord(join(root, checkedRunName(run)));
}

function presetLine(job: Job, name: string): string {
  return `preset ${name}: ${job.presets?.[name]?.about ?? ''}`;
}

async function shown(
  job: Job,
  { file, given, showSettings: how }: RunOptions & { readonly given: readonly Setting[] },
  io: Io,
): Promise<number> {
  const title = asTyped(
    `settings of ${job.name}: edit, then millrace run ${file} --settings THIS-FILE`,
    io,
  );
  const as = how === 'json' ? 'json' : 'yaml';
  const screen = io.screen?.() ?? null;
  await io.out(
    showSettings(job.settings, given, {
      title,
      as,
      ...(screen === null ? {} : { columns: screen.columns - 1 }),
      colour: io.colour?.out === true,
    }),
  );
  return exitCodes.done;
}
