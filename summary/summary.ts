/**
 * The summary of a run at one moment: what it is, its results, its curves, some trajectories, and what its
 * stages do. Text, JSON and pages are views of it.
 */
import type { Clock } from '../base/index.ts';
import type { Log } from '../streams/index.ts';
import { type Curves, curvesOf } from './curves.ts';
import type { RunFacts } from './facts/facts.ts';
import type { Live } from './live.ts';
import { readRun } from './reading.ts';
import { type Results, resultsOf } from './results.ts';
import { chooseSamples, fetchSamples, type Sample } from './samples.ts';
import { Watch } from './watch.ts';

/** One reading of the run's log. */
export interface Achieved {
  readonly results: Results;
  readonly curves: Curves;
  /** Trajectories before and after training. */
  readonly samples: readonly Sample[];
}

export interface Summary extends Achieved {
  readonly facts: RunFacts;
  /** Rates and shares of the time of each stage, from its processes' last reports. */
  readonly live: Live;
}

/** For a running run, what is complete so far. */
export async function summarise(
  log: Log,
  run: string,
  facts: RunFacts,
  clock: Clock,
): Promise<Summary> {
  const achieved = await readAchieved(log, run, facts);
  return { facts, ...achieved, live: await new Watch(log, run).look(facts, clock) };
}

export async function readAchieved(log: Log, run: string, facts: RunFacts): Promise<Achieved> {
  const reading = await readRun(log, run, facts);
  const results = resultsOf(reading);
  return {
    results,
    curves: curvesOf(reading, results),
    samples: await fetchSamples(log, chooseSamples(reading)),
  };
}
