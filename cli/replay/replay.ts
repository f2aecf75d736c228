/** `millrace replay`: recomputes a run from its records, to verify it or to make a new run. */

import { type Beginning, beginnings, type ToolMode } from '../../jobs/replay/index.ts';
import { usageError } from '../failure.ts';
import { jobOf, mustBeOwn } from '../foreign.ts';
import type { Io } from '../io.ts';
import { findRun } from '../runs.ts';
import { remakeRun } from './remakeRun.ts';
import { verifyRun } from './verifyRun.ts';

export interface ReplayOptions {
  readonly run?: string;
  readonly runs: string;
  readonly verify?: boolean;
  readonly from?: Beginning;
  readonly into?: string;
  readonly set: readonly string[];
  readonly tools: ToolMode;
  /** File of the job; the run's if left out. */
  readonly job?: string;
}

export async function replayCommand(options: ReplayOptions, io: Io): Promise<number> {
  const { verify = false, from, into, set, runs, tools } = options;
  if (verify === (from !== undefined)) {
    throw usageError(
      `choose what to do: --verify recomputes the records and compares, --from (${beginnings.join(', ')}) makes a new run`,
    );
  }
  if (verify && (into !== undefined || set.length > 0)) {
    throw usageError('--verify repeats the run as it was, so it takes neither --set nor --into');
  }
  if (from !== undefined && into === undefined) {
    throw usageError('--from makes a new run; name it with --into');
  }
  const run = await findRun(io, runs, options.run);
  if (tools === 'live') await mustBeOwn(run);
  const job = await jobOf(run, options.job, io);
  if (from === undefined) return verifyRun({ run, job, runs }, io);
  return remakeRun({ run, job, file: options.job, runs, from, set, into: into!, tools }, io);
}
