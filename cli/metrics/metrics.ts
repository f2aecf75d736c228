/**
 * `millrace metrics`: gives the numbers of a run to monitoring systems, from a process of its own: for a run
 * that was started without them, and to have all processes of a shared run in one place.
 *
 * Like a tap it belongs to no group and commits nothing. Prometheus is served until interrupted, even after
 * the run has ended; the others get what there is and what follows until the run ends.
 */

import { sleepClock } from '../../base/index.ts';
import { counted } from '../../base/text/index.ts';
import { exporters } from '../../sinks/exporters/index.ts';
import type { RunAbout, RunEnd } from '../../sinks/outside/index.ts';
import type { Log } from '../../streams/index.ts';
import { doneSignal } from '../doneSignal.ts';
import { exitCodes } from '../failure.ts';
import { interruption } from '../interruption.ts';
import type { Io } from '../io.ts';
import { privateFiles } from '../privateFiles.ts';
import { readRunRecord } from '../runRecord.ts';
import { findRun, openRunLog, type Run } from '../runs.ts';
import { serveRun } from './serveRun.ts';
import type { Target } from './targets.ts';

export interface MetricsOptions {
  readonly run?: string;
  readonly runs: string;
  readonly targets: readonly Target[];
  /** Export what there is, and exit. */
  readonly once?: boolean;
  /** Texts too, if a target takes any. */
  readonly content?: boolean;
}

export async function metricsCommand(options: MetricsOptions, io: Io): Promise<number> {
  const run = await findRun(io, options.runs, options.run);
  io.giveWay?.();
  privateFiles();
  const interrupted = interruption(io, null);
  const over = options.once === true || run.record.status !== 'running' ? null : ending(run);
  try {
    const log = await openRunLog(run, { mode: 'read', notice: io.err });
    // If one fails, the others end.
    const failed = new AbortController();
    const stop = AbortSignal.any([interrupted.signal, failed.signal]);
    try {
      const { content = false } = options;
      const means = { run, log, stop, over: over?.signal ?? null, content };
      const carried = options.targets.map((target) =>
        carry(target, means, io).catch((error: unknown) => {
          failed.abort();
          throw error;
        }),
      );
      await Promise.allSettled(carried);
      await Promise.all(carried);
    } finally {
      await log.close();
    }
  } finally {
    over?.release();
    interrupted.release();
  }
  return exitCodes.done;
}

/** How long to wait for an unavailable server once the run has ended. */
const ONCE_MS = 120_000;

interface Means {
  readonly run: Run;
  readonly log: Log;
  readonly stop: AbortSignal;
  /** Null: export what is there now. */
  readonly over: AbortSignal | null;
  readonly content: boolean;
}

async function carry(target: Target, means: Means, io: Io): Promise<void> {
  const { run, log, stop, over, content } = means;
  if (target.kind === 'prometheus') return serveRun(target.address, { run, log, stop }, io);
  const patienceMs = over === null ? ONCE_MS : Number.POSITIVE_INFINITY;
  const { folder } = run;
  const { clock, err: notice } = io;
  const exported = { about: aboutOf(run), folder, clock, notice, patienceMs, content };
  const carrier = await exporters[target.exporter]!.open(target.where, exported);
  const { name, of, how } = carrier;
  if (over !== null) io.err(`exporting ${of}s of run ${run.name} to ${name} until the run ends`);
  const options = { log, clock: sleepClock(io.clock), over, stop, end: () => endOf(run) };
  try {
    const count = await carrier.carry(options);
    io.err(`exported ${counted(count, of)} of run ${run.name} to ${name}${how()}`);
  } catch (error) {
    // Ctrl-C while waiting for a server.
    if (!stop.aborted) throw error;
  } finally {
    await carrier.close();
  }
}

function aboutOf({ name, record }: Run): RunAbout {
  const { job, seed, millrace, starts, settings } = record;
  return { run: name, job: job.name, seed, millrace, startedMs: starts[0]!.startedMs, settings };
}

async function endOf({ folder, record }: Run): Promise<RunEnd> {
  const { status, starts } = (await readRunRecord(folder).catch(() => null)) ?? record;
  return { status, endedMs: starts.at(-1)?.endedMs ?? null };
}

function ending({ folder }: Run): ReturnType<typeof doneSignal> {
  return doneSignal(folder, ['done', 'stopped', 'failed']);
}
