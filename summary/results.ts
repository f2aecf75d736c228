/** The results of a run: before and after, round by round, and what each kind of training added. Pure. */
import type { Sampling } from '../model/index.ts';
import { type Evaluation, evaluation } from '../operators/metrics/index.ts';
import type { Scored } from '../topics/index.ts';
import { type Behaviour, behaviourOf } from './behaviour.ts';
import { type Differences, differencesOf, type Intervals, intervalsOf } from './certainty.ts';
import type { RunStatus } from './facts/facts.ts';
import { isOfEvaluation, metricNames } from './metricNames.ts';
import { type Phase, phasesOf, roundNames } from './phases.ts';
import { completeRounds, type Reading } from './reading.ts';
import { samplingOf } from './sampling.ts';
import type { Training } from './training.ts';
import { zeroAccuracy } from './zeroAccuracy.ts';

export type { Evaluation } from '../operators/metrics/index.ts';

type Nullable<T> = { readonly [K in keyof T]: T[K] | null };

/** An evaluation, and how certain its numbers are. */
export interface Measurement extends Evaluation {
  /** 95 %. */
  readonly intervals: Intervals;
}

/** One round: its training steps, and the evaluation at its end (null until that is complete). */
export interface Round extends Nullable<Evaluation> {
  /** Its round. */
  readonly round: number;
  /** Its name for people. */
  readonly name: string;
  readonly steps: number;
  /** Mean over its steps; null before the first. */
  readonly reward: number | null;
  readonly trainAccuracy: number | null;
  readonly entropy: number | null;
  readonly lag: number | null;
  /** 95 %; null until it is measured, and before the newest `ROUNDS_SHOWN`. */
  readonly intervals: Intervals | null;
  /** Change since the evaluation before it; null if one of the two is missing, or before these rounds. */
  readonly change: Differences | null;
  /** From the evaluation before it to its own. */
  readonly seconds: number | null;
}

/** The output of `report --json`. */
export interface Results {
  readonly run: string;
  readonly job: string;
  readonly seed: number;
  readonly status: RunStatus;
  /** How held-out questions are sampled; null if the settings do not say. */
  readonly sampling: Required<Sampling> | null;
  /** Rollouts of each held-out question; null before the first is scored. */
  readonly rolloutsEach: number | null;
  readonly before: Measurement | null;
  /** The last complete evaluation after training began. */
  readonly after: Measurement | null;
  /** From `before` to `after`. */
  readonly change: Differences | null;
  /** The outcome of training; null before the first step. */
  readonly training: Training | null;
  readonly rounds: readonly Round[];
  /** The base policy, then what each kind of training added. */
  readonly phases: readonly Phase[];
  /** The radar's numbers of `before` and `after`. */
  readonly behaviour: { readonly before: Behaviour | null; readonly after: Behaviour | null };
  /** Time that the run was running, all starts together. */
  readonly seconds: number;
  readonly deadLetters: number;
  /** What a user should look at, one sentence each: steps that taught the policy nothing, no right answer. */
  readonly warnings: readonly string[];
}

/**
 * Limit of rounds shown one by one, the newest: an endless run has thousands, and resampling each takes
 * milliseconds.
 */
export const ROUNDS_SHOWN = 200;

export function resultsOf(reading: Reading): Results {
  const { run, facts, kinds, evaluations, training } = reading;
  const { seed } = facts;
  const groupsOf = (round: number): readonly Scored[] => evaluations.get(round)?.groups ?? [];
  const complete = completeRounds(reading);
  const byRound = new Map(complete.map((round) => [round, evaluation(groupsOf(round))]));
  const intervals = (round: number): Intervals | null =>
    byRound.has(round) ? intervalsOf(groupsOf(round), { seed }) : null;
  const measurement = (round: number): Measurement | null => {
    const [measured, known] = [byRound.get(round), intervals(round)];
    return measured === undefined || known === null ? null : { ...measured, intervals: known };
  };
  const change = (from: number, to: number): Differences | null =>
    byRound.has(from) && byRound.has(to)
      ? differencesOf(groupsOf(from), groupsOf(to), { seed })
      : null;
  const last = complete.filter((round) => round > 0).at(-1) ?? Number.NaN;
  const behaviour = (round: number): Behaviour | null =>
    byRound.has(round) ? behaviourOf(groupsOf(round)) : null;
  const steps = stepsOf(reading);
  const rounds = [...new Set([...steps.keys(), ...complete])]
    .filter((round) => round > 0)
    .sort((a, b) => a - b);
  const names = roundNames(rounds, kinds);
  return {
    run,
    job: facts.job.name,
    seed,
    status: facts.status,
    sampling: samplingOf(facts),
    rolloutsEach: rolloutsEach(evaluations),
    before: measurement(0),
    after: measurement(last),
    change: change(0, last),
    training,
    rounds: rounds.map((round, i) => {
      const isShown = i >= rounds.length - ROUNDS_SHOWN;
      const before = isShown ? complete.filter((one) => one < round).at(-1) : undefined;
      return {
        ...roundOf(reading, round, byRound.get(round) ?? null),
        steps: steps.get(round) ?? 0,
        name: names.get(round) ?? String(round),
        intervals: isShown ? intervals(round) : null,
        change: before === undefined ? null : change(before, round),
      };
    }),
    phases: phasesOf(byRound, kinds),
    behaviour: { before: behaviour(0), after: behaviour(last) },
    seconds: reading.seconds,
    deadLetters: reading.deadLetters,
    warnings: [...reading.idle, ...zeroAccuracy(run, byRound.get(complete.at(-1) ?? -1) ?? null)],
  };
}

/** From the first scored group: all evaluations of a run use the same number. */
function rolloutsEach(evaluations: Reading['evaluations']): number | null {
  const [group] = [...evaluations.values()].flatMap(({ groups }) => groups.slice(0, 1));
  return group?.rewards.length ?? null;
}

const unmeasured: Nullable<Evaluation> = {
  accuracy: null,
  meanToolCalls: null,
  meanToolCallsCorrect: null,
  efficiency: null,
  formatValid: null,
  tokens: null,
  questions: null,
};

/** Training steps of each round, in one pass: a run without an end has thousands of rounds. */
function stepsOf({ metrics }: Reading): ReadonlyMap<number, number> {
  const found = new Map<number, number>();
  for (const { name, round, steps } of metrics.means) {
    if (!isOfEvaluation(name)) found.set(round, Math.max(found.get(round) ?? 0, steps));
  }
  for (const { name, round, steps } of metrics.means) {
    if (name === metricNames.leftOut) found.set(round, (found.get(round) ?? 0) - steps);
  }
  return found;
}

function roundOf(
  reading: Reading,
  round: number,
  measured: Evaluation | null,
): Omit<Round, 'name' | 'steps' | 'intervals' | 'change'> {
  const { metrics } = reading;
  return {
    round,
    reward: metrics.mean(metricNames.reward, round),
    ...(measured ?? unmeasured),
    trainAccuracy: metrics.mean(metricNames.accuracy, round),
    entropy: metrics.mean(metricNames.entropy, round),
    lag: metrics.mean(metricNames.policyLag, round),
    seconds: measured === null ? null : secondsBetween(reading, round),
  };
}

function secondsBetween({ evaluations }: Reading, round: number): number | null {
  const [end, start] = [evaluations.get(round), evaluations.get(round - 1)];
  return start === undefined || end === undefined ? null : (end.lastMs - start.lastMs) / 1000;
}
