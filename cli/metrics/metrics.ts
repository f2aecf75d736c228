/**
 * `millrace metrics`: serves the numbers of a run to Prometheus from another process, for one that was started without
 * `--metrics-port`, or to have all processes of a shared run in one place.
 *
 * Like a tap it belongs to no group and commits nothing. It goes on after the run has ended, until it is interrupted.
 */
import type { Log } from '../../streams/log.ts';
import { Page } from '../../views/prometheus/exposition.ts';
import { Follower } from '../../views/prometheus/follower.ts';
import { addOwn, addRun, addWorkers } from '../../views/prometheus/runPage.ts';
import { Workers } from '../../views/summary/workers.ts';
import { exitCodes } from '../failure.ts';
import { interruption } from '../interruption.ts';
import type { Io } from '../io.ts';
import { readRunRecord } from '../runRecord.ts';
import { findRun, openRunLog, type Run } from '../runs.ts';
import { version } from '../version.ts';
import { LogReader } from './logReader.ts';
import { type Address, type Answers, serveMetrics } from './server.ts';

export interface MetricsOptions extends Address {
  readonly run?: string;
  readonly runs: string;
}

export async function metricsCommand(options: MetricsOptions, io: Io): Promise<number> {
  const run = await findRun(io, options.runs, options.run);
  io.giveWay?.();
  const interrupted = interruption(io, null);
  try {
    const log = await openRunLog(run, { mode: 'read', notice: io.err });
    const follower = new Follower(log, io.clock.now());
    try {
      const server = await serveMetrics(options, answers(run, log, follower));
      io.err(`metrics of run ${run.name} at ${server.url}`);
      await aborted(interrupted.signal);
      await server.close();
    } finally {
      follower.stop();
      await log.close();
    }
  } finally {
    interrupted.release();
  }
  return exitCodes.done;
}

function answers(run: Run, log: Log, { tallies, following }: Follower): Answers {
  const reader = new LogReader(log);
  const workers = new Workers();
  let facts = run.record;
  let fresh = false;
  let scrapes = 0;
  return {
    async metrics() {
      const page = new Page({ run: run.name });
      scrapes += 1;
      addOwn(page, { version, node: process.version, scrapes });
      facts = (await readRunRecord(run.folder).catch(() => null)) ?? facts;
      const sizes = await reader.sizes();
      fresh = sizes.fresh;
      const posted = fresh ? await log.posted?.().catch(() => []) : undefined;
      addWorkers(
        page,
        workers.update(posted ?? []).map(({ now }) => now),
      );
      addRun(page, { facts, tallies, following, ...sizes });
      return page.text();
    },
    health: () => ({ ok: true, why: 'it answers' }),
    ready: () =>
      fresh || scrapes === 0
        ? { ok: true, why: 'reading' }
        : { ok: false, why: 'the log does not answer' },
  };
}

function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    // The server alone does not keep the process alive, so that it never holds up the end of a run.
    const alive = setInterval(() => undefined, 60_000);
    signal.addEventListener(
      'abort',
      () => {
        clearInterval(alive);
        resolve();
      },
      { once: true },
    );
  });
}
