/**
 * Stragglers: `npm run bench:stragglers`.
 *
 * The same work, rollouts that call tools with heavy-tailed latencies, through the round barrier of the
 * released trainers and through our real stream at lag 0, 1 and 4. Engine, tools and optimiser step are
 * simulated; operators, gate, trainer sink and the embedded log are the real ones, and what they cost is
 * charged (skippingClock.ts).
 */
import assert from 'node:assert/strict';
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { amount, benchmark, count, positive, whole } from './options.ts';
import { throughBarrier } from './stragglers/barrier.ts';
import type { Simulation } from './stragglers/simulation.ts';
import { type StreamRun, throughStream } from './stragglers/stream.ts';
import { folderOnDisk, print, type Row } from './table.ts';

/** The best published gain of asynchronous over synchronous training of this kind is 2.77. */
const TIMES_GOAL = 2.8;
/** Share of all machines that trains in the stream; where phases take turns, each has all machines. */
const TRAINER_SHARE = 1 / 8;
/** Within a tenth of total work over capacity. */
const BOUND_GOAL = 1.1;

interface Options {
  readonly seed: number;
  readonly steps: number;
  readonly toolMs: number;
  readonly sigma: number;
  readonly json: boolean;
}

const { json, ...given } = benchmark(
  'npm run bench:stragglers',
  `Optimiser steps an hour where rollouts call tools with heavy-tailed latencies: our stream at lag 0, 1 and 4
beside the round barrier of the released trainers, and beside total work over capacity. Engine, tools and
steps are simulated.`,
)
  .option('--seed <N>', 'seed of the random latencies', whole, 1)
  .option('--steps <N>', 'optimiser steps', count, 48)
  .option('--tool-ms <N>', 'median latency of a tool, in milliseconds', positive, 900)
  .option('--sigma <N>', 'sigma of their log-normal distribution', amount, 0.5)
  .parse()
  .opts<Options>();

const simulation: Simulation = {
  seed: given.seed,
  steps: given.steps,
  groups: 16,
  rollouts: 8,
  rows: 32,
  tokenMs: 20,
  tokensMin: 60,
  tokensMax: 180,
  callChance: 0.6,
  callLimit: 4,
  toolMs: given.toolMs,
  toolSigma: given.sigma,
  slowShare: 0.1,
  slowTimes: 20,
  stepMs: 3_000,
  swap: 'live',
  branching: 'none',
};

/** All rows busy all the time, or the optimiser at work all the time, whichever takes longer. */
function boundMs({ busyMs }: StreamRun, { rows, steps, stepMs }: Simulation): number {
  return Math.max(busyMs / rows, steps * stepMs);
}

async function streamed(which: Simulation, lagMax: number): Promise<StreamRun> {
  const run = await throughStream(which, lagMax, join(folder, `run-${runs++}`));
  assert.equal(run.weights.length, which.steps + 1);
  assert.ok(run.lag.max <= lagMax);
  if (!json) {
    const { ms, realMs, lag } = run;
    const shares = `ours ${(realMs / 1000).toFixed(1)} s of CPU, lag ${lag.mean.toFixed(2)} on average, ${lag.max} at most`;
    console.log(
      `${which.branching}, lag ${lagMax}: ${(ms / 1000).toFixed(0)} s simulated; ${shares}`,
    );
  }
  return run;
}

/** `goals`: set on the rows of lag 1. */
async function rowsFor(which: Simulation, name: string, goals: boolean): Promise<Row[]> {
  const lagging: [number, StreamRun][] = [];
  for (const lagMax of [0, 1, 4]) lagging.push([lagMax, await streamed(which, lagMax)]);
  const work = lagging[0]![1];
  for (const [, run] of lagging) assert.equal(run.busyMs, work.busyMs, 'not the same work');
  const steps = (ms: number): number => (3_600_000 * which.steps) / ms;
  const barrierMs = await throughBarrier(work, which);
  const bound = boundMs(work, which);
  const everywhere = {
    rows: Math.round(which.rows / (1 - TRAINER_SHARE)),
    stepMs: which.stepMs * TRAINER_SHARE,
  };
  const everywhereMs = await throughBarrier(work, which, everywhere);
  const rows = lagging.flatMap(([lagMax, { ms }]): Row[] => [
    {
      what: `${name}, lag ${lagMax}`,
      against: 'round barrier',
      ratio: barrierMs / ms,
      goal: goals && lagMax === 1 ? TIMES_GOAL : null,
      unit: 'steps/h',
      ours: steps(ms),
      theirs: steps(barrierMs),
    },
    {
      what: `${name}, lag ${lagMax}`,
      against: 'total work over capacity',
      ratio: ms / bound,
      goal: goals && lagMax === 1 ? BOUND_GOAL : null,
      atMost: true,
      unit: 'steps/h',
      ours: steps(ms),
      theirs: steps(bound),
    },
  ]);
  const { ms } = lagging[1]![1];
  return [
    ...rows,
    {
      what: `${name}, lag 1`,
      against: 'round barrier, all machines in each phase',
      ratio: everywhereMs / ms,
      goal: null,
      unit: 'steps/h',
      ours: steps(ms),
      theirs: steps(everywhereMs),
    },
  ];
}

const folder = folderOnDisk('bench-stragglers');
let runs = 0;
try {
  const rows = [
    ...(await rowsFor(simulation, 'independent rollouts', true)),
    // A clone cannot begin before its round has decided, so a group takes longer than its slowest rollout: no
    // goal.
    ...(await rowsFor({ ...simulation, branching: 'arpo' }, 'branching rollouts', false)),
  ];
  print('Stragglers', rows, json);
} finally {
  rmSync(folder, { recursive: true, force: true });
}
