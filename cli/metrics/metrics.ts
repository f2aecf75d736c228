/**
 * `millrace metrics`: gives the numbers of a run to what people look at them with, from another process than those that run it: for one
 * that was started without, and to have all processes of a shared run in one place.
 *
 * Like a tap it belongs to no group and commits nothing. Prometheus is served until an interrupt, also after the run has ended; the
 * others are carried what there is and what follows, until the run ends.
 */
import { sleepClock } from '../../base/sleepClock.ts';
import { exportMetrics, type RunEnd } from '../../sinks/outside/exportMetrics.ts';
import { counted } from '../../streams/doctor/counted.ts';
import type { Log } from '../../streams/log.ts';
import { doneSignal } from '../doneSignal.ts';
import { exitCodes } from '../failure.ts';
import { interruption } from '../interruption.ts';
import type { Io } from '../io.ts';
import { privateFiles } from '../privateFiles.ts';
import { readRunRecord } from '../runRecord.ts';
import { findRun, openRunLog, type Run } from '../runs.ts';
import { serveRun } from './serveRun.ts';
import { metricTarget, type Target } from './targets.ts';

export interface MetricsOptions {
  readonly run?: string;
  readonly runs: string;
  readonly targets: readonly Target[];
  /** Carry what there is, and end. */
  readonly once?: boolean;
}

export async function metricsCommand(options: MetricsOptions, io: Io): Promise<number> {
  const run = await findRun(io, options.runs, options.run);
  io.giveWay?.();
  privateFiles();
  const interrupted = interruption(io, null);
  const over = options.once === true || run.record.status !== 'running' ? null : ending(run);
  try {
    const log = await openRunLog(run, { mode: 'read', notice: io.err });
    // One that fails ends the others.
    const failed = new AbortController();
    const stop = AbortSignal.any([interrupted.signal, failed.signal]);
    try {
      const means = { run, log, stop, over: over?.signal ?? null };
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

/** How long a server that is away is waited for where the run is over. */
const ONCE_MS = 120_000;

interface Means {
  readonly run: Run;
  readonly log: Log;
  readonly stop: AbortSignal;
  /** Null: what there is now is enough. */
  readonly over: AbortSignal | null;
}

async function carry(target: Target, means: Means, io: Io): Promise<void> {
  const { run, log, stop, over } = means;
  if (target.kind === 'prometheus') return serveRun(target.address, { run, log, stop }, io);
  const { to, name, how, close } = metricTarget(
    target,
    { run, patienceMs: over === null ? ONCE_MS : Number.POSITIVE_INFINITY },
    io,
  );
  if (over !== null) io.err(`carrying metrics of run ${run.name} to ${name} until the run ends`);
  const clock = sleepClock(io.clock);
  const count = await exportMetrics(to, { log, clock, over, stop, end: () => endOf(run) }).catch(
    (error: unknown) => {
      // Ctrl-C while a server is waited for.
      if (stop.aborted) return null;
      throw error;
    },
  );
  close();
  if (count === null) return;
  io.err(`${counted(count, 'metric')} of run ${run.name} carried to ${name}${how()}`);
}

async function endOf({ folder, record }: Run): Promise<RunEnd> {
  const { status, starts } = (await readRunRecord(folder).catch(() => null)) ?? record;
  return { status, endedMs: starts.at(-1)?.endedMs ?? null };
}

function ending({ folder }: Run): ReturnType<typeof doneSignal> {
  return doneSignal(folder, ['done', 'stopped', 'failed']);
}
