/**
 * `millrace top`: what every stage of a live run does and waits for, from another process.
 *
 * Refreshed in place on a terminal, elsewhere a set of lines per interval. It reads what the run's processes
 * post to the board of its log, and like a tap belongs to no group and commits nothing. While a broker does
 * not answer it says so and waits. It ends when the run has.
 */

import { isLive, type Live, Watch } from '../../summary/index.ts';
import { exitCodes } from '../failure.ts';
import { interruption } from '../interruption.ts';
import { parseInterval } from '../interval.ts';
import type { Io } from '../io.ts';
import { readRunRecord } from '../runRecord.ts';
import { findRun, openRunLog } from '../runs.ts';
import { Painter } from './painter.ts';

export interface TopOptions {
  readonly run?: string;
  readonly runs: string;
  readonly interval: string;
  readonly once?: boolean;
  readonly json?: boolean;
}

export async function topCommand(options: TopOptions, io: Io): Promise<number> {
  const intervalMs = parseInterval('--interval', options.interval);
  const run = await findRun(io, options.runs, options.run);
  io.giveWay?.();
  const interrupted = interruption(io, null);
  const painter = new Painter(io, { json: options.json === true, once: options.once === true });
  try {
    const log = await openRunLog(run, { mode: 'read', notice: (line) => painter.notice(line) });
    const watch = new Watch(log, run.name);
    watch.follow(io.clock.now());
    const look = async (): Promise<Live> =>
      watch.look((await readRunRecord(run.folder)) ?? run.record, io.clock);
    try {
      await follow(look, painter, { once: options.once === true, intervalMs }, interrupted.signal);
    } finally {
      watch.stop();
      await log.close();
    }
  } finally {
    await painter.close();
    interrupted.release();
  }
  return exitCodes.done;
}

async function follow(
  lookNow: () => Promise<Live>,
  painter: Painter,
  { once, intervalMs }: { readonly once: boolean; readonly intervalMs: number },
  signal: AbortSignal,
): Promise<void> {
  const stopped = aborted(signal);
  // A read may take as long as the broker is unavailable; Ctrl-C does not wait for it.
  const look = async (): Promise<Live | null> =>
    signal.aborted ? null : Promise.race([lookNow(), stopped]);
  let frame = await look();
  // Rates are differences: for a live run, over one interval.
  if (once && frame !== null && mayWork(frame)) {
    await pause(intervalMs, signal);
    frame = (await look()) ?? frame;
  }
  while (frame !== null) {
    await painter.paint(frame);
    if (once || signal.aborted || isOver(frame)) return;
    await pause(intervalMs, signal);
    frame = await look();
  }
}

/** Resolves to null once the signal aborts. */
function aborted(signal: AbortSignal): Promise<null> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve(null);
    else signal.addEventListener('abort', () => resolve(null), { once: true });
  });
}

/** Some process works, or has not reported yet. */
function mayWork({ status, workers }: Live): boolean {
  return workers.some(isLive) || (status === 'running' && workers.length === 0);
}

function isOver({ status, workers }: Live): boolean {
  return status !== 'running' && !workers.some(isLive);
}

function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const end = (): void => {
      clearTimeout(timer);
      signal.removeEventListener('abort', end);
      resolve();
    };
    const timer = setTimeout(end, ms);
    signal.addEventListener('abort', end);
    if (signal.aborted) end();
  });
}
