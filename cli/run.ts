/**
 * `millrace run`: loads a job, runs its flow in a run folder, and says how to go on.
 *
 * The order at the start matters: settings are checked before anything is written, and the log's writer
 * lock is taken before `run.json` is touched, so a second start of a live run changes nothing.
 */
import { mkdir } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import type { Job } from '../jobs/defineJob.ts';
import { openLog } from '../streams/embedded/openLog.ts';
import { messageOf } from '../streams/errors.ts';
import type { Log } from '../streams/log.ts';
import { type FlowEnd, runFlow } from '../streams/runFlow.ts';
import { topics } from '../streams/topics.ts';
import { exitCodes } from './failure.ts';
import type { Io } from './io.ts';
import { loadJob } from './loadJob.ts';
import { ended, readRunRecord, writeRunRecord } from './runRecord.ts';
import { checkedRunName, freeRunName, logFolder, type Run } from './runs.ts';
import { checkSettings, knownSettings, parseSetting } from './settings.ts';
import { startRun } from './startRun.ts';

export interface RunOptions {
  readonly file: string;
  readonly set: readonly string[];
  readonly run?: string;
  readonly seed?: number;
  readonly runs: string;
  /** List the job's settings instead of running it. */
  readonly settings?: boolean;
}

/** Work in flight may take this long to end after Ctrl-C. */
const graceMs = 60_000;

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
  };
  const { record, resumed } = await startRun(
    request,
    known === null ? null : { name, folder, record: known },
  );
  if (resumed && known?.status === 'done') {
    io.err(`run ${name} is done already; see it with: millrace report ${name}${at(options)}`);
    return exitCodes.done;
  }
  const interrupted = interruption(io);
  try {
    io.err(
      `${resumed ? 'going on with' : 'starting'} run ${name} of ${job.name}, seed ${record.seed}, in ${folder}`,
    );
    const end = await runIn({ name, folder, record }, job, interrupted.signal, io);
    io.err(
      end === 'stopped'
        ? `stopped; go on with: millrace run ${options.file} --run ${name}${at(options)}`
        : `done; see it with: millrace report ${name}${at(options)}`,
    );
  } finally {
    interrupted.release();
  }
  return exitCodes.done;
}

function at({ runs }: RunOptions): string {
  return runs === 'runs' ? '' : ` --runs ${runs}`;
}

async function runIn(run: Run, job: Job, signal: AbortSignal, io: Io): Promise<FlowEnd> {
  const { folder, record } = run;
  await mkdir(folder, { recursive: true });
  const log = await openLog({ folder: logFolder(folder), mode: 'write', clock: io.clock });
  const finish = (status: 'done' | 'stopped' | 'failed', reason = ''): Promise<void> =>
    writeRunRecord(folder, ended(record, status, io.clock.now(), reason));
  try {
    await writeRunRecord(folder, record);
    const end = await runJob(run, job, { log, signal }, io);
    await finish(end === 'stopped' ? 'stopped' : 'done');
    await tellDeadLetters(run.name, log, io);
    return end;
  } catch (error) {
    await finish('failed', messageOf(error));
    throw error;
  } finally {
    await log.close();
  }
}

/** Bad rows do not stop a run; nobody should have to look for them either. */
async function tellDeadLetters(name: string, log: Log, io: Io): Promise<void> {
  const stats = await log.stats();
  const count = stats.find(({ topic }) => topic === topics.deadLetters.name)?.records ?? 0;
  if (count > 0) io.err(`${count} dead letters; see them with: millrace tap ${name}.dead-letters`);
}

async function runJob(
  { name, folder, record }: Run,
  job: Job,
  { log, signal }: { readonly log: Log; readonly signal: AbortSignal },
  io: Io,
): Promise<FlowEnd> {
  const owned: { close(): Promise<void> }[] = [];
  try {
    const flow = await job.build({
      run: name,
      folder,
      seed: record.seed,
      settings: record.settings,
      log,
      clock: io.clock,
      signal,
      print: (line) => io.err(line),
      own: (resource) => {
        owned.push(resource);
        return resource;
      },
    });
    return await runFlow(flow, { log, signal, clock: io.clock, graceMs });
  } finally {
    for (const resource of owned.reverse()) await closed(resource, io);
  }
}

/** A resource that cannot close is told, and does not hide how the run ended. */
async function closed(resource: { close(): Promise<void> }, io: Io): Promise<void> {
  try {
    await resource.close();
  } catch (error) {
    io.err(`while closing: ${messageOf(error)}`);
  }
}

/** The first Ctrl-C stops in order, the second at once. */
function interruption(io: Io): { readonly signal: AbortSignal; release(): void } {
  const controller = new AbortController();
  const release = io.onInterrupt(() => {
    if (controller.signal.aborted) return io.exit(exitCodes.interrupted);
    io.err('stopping when the work in hand is done; Ctrl-C again stops at once');
    controller.abort();
  });
  return { signal: controller.signal, release };
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
