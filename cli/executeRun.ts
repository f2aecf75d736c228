/**
 * Executes a run: takes the log's writer lock, runs the job's flow in the run folder, and keeps
 * `run.json` up to date. The first Ctrl-C stops gracefully, the second at once.
 *
 * Of several processes that share a run, the one with all of its sources leads: it can tell when nothing is
 * left to do, and it alone says in `run.json` how the run ends. The others follow: they end when it says that
 * the run is done.
 */

import { hostname } from 'node:os';
import {
  leftoversText,
  makeFolder,
  messageOf,
  orAborted,
  ownBytes,
  raceAbort,
  removeLeftovers,
} from '../base/index.ts';
import { counted } from '../base/text/index.ts';
import type { Job } from '../jobs/index.ts';
import { type Control, type Flow, type Log, partOf, recordsOf, restOf } from '../streams/index.ts';
import {
  type FlowEnd,
  type FlowStats,
  type RunOptions as RunFlowOptions,
  reportStatus,
  runFlow,
  STATUS_MS,
} from '../streams/run/index.ts';
import { Learning, topics } from '../topics/index.ts';
import { changesOf, lagMaxOf } from './control/changes.ts';
import { obey } from './control/obey.ts';
import { doneSignal } from './doneSignal.ts';
import { interruption } from './interruption.ts';
import type { Io } from './io.ts';
import { leftoversOf } from './leftovers.ts';
import { noExporter, type RunExporter } from './metrics/runExporter.ts';
import { privateFiles } from './privateFiles.ts';
import { type RunOutput, runOutput } from './progress/runOutput.ts';
import { type KeptLog, retaining } from './retention/retention.ts';
import { rewindCommandFor } from './rewind/rewindCommand.ts';
import { ended, readRunRecord, writeRunRecord } from './runRecord.ts';
import { openRunLog, type Run } from './runs.ts';
import { mustBeFree, mustHaveSources, workerOf } from './startGuard.ts';

/** How long work in flight may take to end after Ctrl-C. */
const graceMs = 60_000;

/** Runs the job to its end, or until it is interrupted. Rejects if it fails; `run.json` then says so. */
export async function executeRun(
  run: Run,
  job: Job,
  io: Io,
  { exporter = noExporter, output = runOutput({}, io) }: Observers = {},
): Promise<FlowEnd> {
  const interrupted = interruption(io);
  const { signal } = interrupted;
  signal.addEventListener('abort', () => exporter.state('stopping'), { once: true });
  try {
    return await runIn({ run, job, signal, exporter, output }, io);
  } finally {
    interrupted.release();
  }
}

/** Observers of the run. */
interface Observers {
  readonly exporter?: RunExporter;
  readonly output?: RunOutput;
}

interface Execution extends Required<Observers> {
  readonly run: Run;
  readonly job: Job;
  readonly signal: AbortSignal;
}

async function runIn({ run, job, signal, exporter, output }: Execution, io: Io): Promise<FlowEnd> {
  const { folder, part } = run;
  privateFiles();
  await makeFolder(folder);
  // Prints that a log's broker is unavailable, and when it is back.
  const notice = (line: string): void => {
    io.err(line);
    output.tell('warning', { text: line });
  };
  const log = await opened(run, signal, io, notice);
  if (log === null) {
    // Keeps the text on the line, so that printing something does not lose it.
    const isNew = run.part === undefined && (await readRunRecord(folder)) === null;
    if (isNew) await writeRunRecord(folder, ended(run.record, 'stopped', io.clock.now()));
    return 'stopped';
  }
  let record = withCluster(run.record, log);
  let leads = part === undefined;
  const finish = async (status: 'done' | 'stopped' | 'failed', reason = ''): Promise<void> => {
    if (leads) await writeRunRecord(folder, ended(record, status, io.clock.now(), reason));
  };
  let kept = async (): Promise<void> => undefined;
  const keep = (): void => {
    kept = retaining(log, record.retention as KeptLog | undefined, (line) => output.say(line));
  };
  const leading = async (): Promise<void> => {
    leads = true;
    keep();
    exporter.leads(log);
    await writeRunRecord(folder, record);
  };
  const changed = async (): Promise<void> => {
    const changes = await changesOf(log, lagMaxOf(record.settings));
    record = { ...record, changes: [...changes] };
    if (leads) await writeRunRecord(folder, record);
  };
  try {
    await sweep(run, output);
    if (leads || (await readRunRecord(folder)) === null) await writeRunRecord(folder, record);
    if (leads) exporter.leads(log);
    const paused = (is: boolean): void => exporter.state(is ? 'paused' : 'running');
    const commands = await obey({ run, log, output, notice, paused, changed });
    const { control } = commands;
    const stopping = AbortSignal.any([signal, control.stop]);
    control.stop.addEventListener('abort', () => exporter.state('stopping'), { once: true });
    const means = { log, signal: stopping, leading, exporter, output, control };
    if (leads) keep();
    const end = await runJob(run, job, means, io)
      .finally(() => commands.end())
      .finally(() => kept());
    await finish(end === 'stopped' ? 'stopped' : 'done');
    if (leads) await mentionIdleSteps(run.name, log, { output, io });
    await mentionDeadLetters(run.name, log, io);
    return end;
  } catch (error) {
    exporter.state('failed');
    // An error while recording this (a full disk) must not hide why it failed.
    await finish('failed', messageOf(error)).catch((then: unknown) => {
      io.err(`could not update run.json, which still says "running": ${messageOf(then)}`);
    });
    const back = await rewindCommandFor(run, log, error).catch(() => null);
    if (back !== null) io.err(`to go back to the newest intact version: millrace ${back}`);
    throw error;
  } finally {
    exporter.detach();
    await log.close();
  }
}

/** Removes what killed starts left. If the log is in the folder, its holder is the only writer. */
async function sweep(run: Run, output: RunOutput): Promise<void> {
  const left = await leftoversOf(run, { alone: (run.log ?? run.record.log) === undefined });
  await removeLeftovers(left);
  if (left.length > 0) output.say(`removed ${leftoversText(left)}`);
}

/**
 * The log to write; null if the run is to stop before the log is open, for example while waiting for a
 * broker.
 */
async function opened(
  run: Run,
  signal: AbortSignal,
  { clock }: Io,
  notice: (line: string) => void,
): Promise<Log | null> {
  const opening = mustBeFree(run, notice).then(() =>
    openRunLog(run, { mode: 'write', clock, notice }),
  );
  try {
    return await raceAbort(opening, signal);
  } catch (error) {
    if (!signal.aborted) throw error;
    opening.then(
      (log) => log.close(),
      () => undefined,
    );
    return null;
  }
}

/** Records the cluster of the records, so that another one is never taken for it. */
function withCluster(record: Run['record'], { cluster = '' }: Log): Run['record'] {
  return cluster === '' ? record : { ...record, cluster };
}

/** Bad rows do not stop a run, but users should not have to look for them. */
async function mentionDeadLetters(name: string, log: Log, io: Io): Promise<void> {
  const stats = await log.stats();
  const count = stats.find(({ topic }) => topic === topics.deadLetters.name)?.records ?? 0;
  if (count > 0)
    io.err(`${counted(count, 'dead letter')}; list them with: millrace dlq ls ${name}`);
}

/** How many metrics to read when a run ends; of a longer one, its last steps. */
const METRICS_MAX = 50_000;

/**
 * A run whose steps taught nothing ends like any other; the evaluation should not be the first sign of it.
 */
async function mentionIdleSteps(
  name: string,
  log: Log,
  { output, io }: { readonly output: RunOutput; readonly io: Io },
): Promise<void> {
  const learning = new Learning();
  const from = { kind: 'last', count: METRICS_MAX } as const;
  const unreadable = (): void => undefined;
  for await (const { value } of recordsOf(log, topics.metrics, { from, unreadable })) {
    learning.add(value);
  }
  for (const text of learning.notes(name)) {
    output.tell('warning', { text });
    io.err(`note: ${text}`);
  }
}

interface Means {
  readonly log: Log;
  readonly signal: AbortSignal;
  /** Called if this process turns out to be the one of several that leads. */
  leading(): Promise<void>;
  readonly exporter: RunExporter;
  readonly output: RunOutput;
  readonly control: Control;
}

async function runJob(
  run: Run,
  job: Job,
  { log, signal, leading, exporter, output, control }: Means,
  io: Io,
): Promise<FlowEnd> {
  const { name, folder, record, part } = run;
  const owned: { close(): Promise<void> }[] = [];
  let over = false;
  const reporter = reportStatus(log, {
    worker: workerOf(run),
    host: hostname(),
    pid: process.pid,
    startedMs: io.clock.now(),
    memoryBytes: ownBytes,
  });
  const onStats = (stats: FlowStats): void => {
    reporter.onStats(stats);
    exporter.onStats(stats);
  };
  const ends = [aliveMeanwhile(onStats, io), output.preparing()];
  const built = (): void => {
    for (const end of ends) end();
  };
  // A stop need not wait for what a start waits for (an unavailable server): nothing is in flight yet.
  const start = orAborted(signal);
  try {
    const building = async (): Promise<Flow> =>
      job.build({
        run: name,
        folder,
        seed: record.seed,
        settings: record.settings,
        log,
        clock: io.clock,
        print(line, outage) {
          output.say(line, outage);
          if (outage !== undefined) exporter.outage(outage);
        },
        screen: output.screen,
        control,
        own: (resource) => {
          // A start that was stopped is not waited for; whatever it still opens is closed.
          if (over) void closed(resource, io);
          else owned.push(resource);
          return resource;
        },
      });
    const flow = await start.wait(building());
    if (flow === null) return 'stopped';
    const own = part === undefined ? flow : partOf(flow, part);
    await mustHaveSources(run, own, log);
    built();
    if (!signal.aborted) exporter.state(control.paused ? 'paused' : 'running');
    const options = { log, clock: io.clock, graceMs, onStats, statsMs: STATUS_MS };
    if (part === undefined) return await runFlow(own, { ...options, signal });
    const rest = restOf(flow, own);
    if (rest.sources.length > 0) {
      if (record.retention !== undefined && own.sources.length > 0) {
        output.say(
          '--keep-log archives nothing here: only a process that runs all sources can, and they are spread over several',
        );
      }
      return await follow(own, folder, { ...options, signal });
    }
    await leading();
    return await runFlow(own, { ...options, signal, elsewhere: rest.stages });
  } finally {
    start.forget();
    built();
    await reporter.end();
    over = true;
    for (const resource of owned.reverse()) await closed(resource, io);
  }
}

/**
 * Building a job may take long: until the returned function is called, the process only reports that it is
 * alive.
 */
function aliveMeanwhile(onStats: (stats: FlowStats) => void, { clock }: Io): () => void {
  const say = (): void => onStats({ atMs: clock.now(), sources: [], stages: [] });
  say();
  const saying = setInterval(say, STATUS_MS);
  return () => clearInterval(saying);
}

/** A resource that fails to close is reported, and does not hide how the run ended. */
async function closed(resource: { close(): Promise<void> }, io: Io): Promise<void> {
  try {
    await resource.close();
  } catch (error) {
    io.err(`while closing: ${messageOf(error)}`);
  }
}

/** Waits for Ctrl-C, or for the leading process to record that the run is done. */
async function follow(
  own: Flow,
  folder: string,
  options: RunFlowOptions & { readonly signal: AbortSignal },
): Promise<FlowEnd> {
  const done = doneSignal(folder);
  try {
    const signal = AbortSignal.any([options.signal, done.signal]);
    const end = await runFlow(own, { ...options, signal, forever: true });
    return done.signal.aborted ? 'quiescent' : end;
  } finally {
    done.release();
  }
}
