/**
 * How near plans are to what then happens: `npm run bench:plan`.
 *
 * A job runs for real: real timers, the log in a folder, every stage. A plan is learned from the run with
 * lagMax 0, and predicts those with a lag, and with two and four workers, each with an engine of its own.
 */
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { systemClock } from '../base/clock.ts';
import { sleepClock } from '../base/sleepClock.ts';
import { openLog } from '../streams/embedded/openLog.ts';
import type { Log } from '../streams/log.ts';
import { benchmark, count } from './options.ts';
import { type Case, learnedFrom, plannedSeconds, timedJob } from './plan/job.ts';
import { folderOnDisk, print, type Row } from './table.ts';

const ERROR_GOAL = 0.1;

const { steps, json } = benchmark(
  'npm run bench:plan',
  `Seconds of a step of jobs that run in real time, beside what millrace plan learns from the one with lagMax 0.`,
)
  .option('--steps <N>', 'steps of each run that are measured', count, 16)
  .parse()
  .opts<{ readonly steps: number; readonly json: boolean }>();

/** Runs a job; resolves with seconds of a step, once `use` has read its log. */
async function ran<T>(which: Case, use: (log: Log) => Promise<T>): Promise<[number, T]> {
  const folder = folderOnDisk('plan');
  const log = await openLog({ folder: join(folder, 'log'), mode: 'write' });
  try {
    const seconds = await timedJob({ ...which, log, clock: sleepClock(systemClock), steps });
    return [seconds, await use(log)];
  } finally {
    await log.close();
    rmSync(folder, { recursive: true, force: true });
  }
}

const first: Case = { lagMax: 0, workers: 1 };
const [seconds, known] = await ran(first, (log) => learnedFrom(log, { ...first, steps }));

const cases: readonly Case[] = [
  { lagMax: 1, workers: 1 },
  { lagMax: 4, workers: 1 },
  { lagMax: 0, workers: 2 },
  { lagMax: 0, workers: 4 },
  { lagMax: 1, workers: 4 },
];
const rows: Row[] = [];
const add = (which: Case, happened: number, predicted: number): void => {
  rows.push({
    what: `lagMax ${which.lagMax}, ${which.workers === 1 ? 'one worker' : `${which.workers} workers`}`,
    against: which === first ? 'what it was learned from' : 'what then happened',
    ...{ ratio: Math.abs(predicted / happened - 1), goal: ERROR_GOAL, atMost: true },
    ...{ unit: 's', ours: predicted, theirs: happened },
  });
};
add(first, seconds, await plannedSeconds(known, first));
for (const which of cases) {
  const [happened] = await ran(which, async () => undefined);
  add(which, happened, await plannedSeconds(known, which));
}
print('plan', rows, json);
