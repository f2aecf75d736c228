/**
 * What a run has achieved, computed from its records. Pure: the same records give the same report.
 *
 * Stage 0 is measured before any training, stage r after round r. While a run goes on, an evaluation
 * counts once all of its questions are scored; after it has ended, what is there counts.
 */
import { type Evaluation, evaluation } from '../../operators/metrics/evaluation.ts';
import type { BatchKind, Metric, Scored } from '../../streams/records.ts';
import type { RunRecord, RunStatus } from '../runRecord.ts';
import { type Behaviour, stageBehaviour } from './behaviourRadar.ts';
import { type Phase, phasesOf, stageNames } from './phases.ts';

/** A record with the time of its append. */
export interface Timed<T> {
  readonly value: T;
  readonly atMs: number;
}

/** What a report is made of. */
export interface ReportInput {
  readonly run: string;
  readonly record: RunRecord;
  /** Number of questions to evaluate, by stage. */
  readonly expected: ReadonlyMap<number, number>;
  /** Scored groups of phase `evaluate`, by stage. */
  readonly evaluations: ReadonlyMap<number, readonly Timed<Scored>[]>;
  readonly metrics: readonly Metric[];
  /** What the steps of each stage trained on. */
  readonly kinds: ReadonlyMap<number, BatchKind>;
  readonly deadLetters: number;
}

export type { Evaluation } from '../../operators/metrics/evaluation.ts';

type Nullable<T> = { readonly [K in keyof T]: T[K] | null };

/** One round: its training steps, and the evaluation at its end (null until that is complete). */
export interface Round extends Nullable<Evaluation> {
  /** Its stage. */
  readonly round: number;
  /** What people call it. */
  readonly name: string;
  readonly steps: number;
  /** Mean over its steps; null before the first. */
  readonly reward: number | null;
  readonly trainAccuracy: number | null;
  readonly entropy: number | null;
  readonly lag: number | null;
  /** From the evaluation before it to its own. */
  readonly seconds: number | null;
}

export interface Report {
  readonly run: string;
  readonly job: string;
  readonly seed: number;
  readonly status: RunStatus;
  readonly before: Evaluation | null;
  /** The last complete evaluation after training began. */
  readonly after: Evaluation | null;
  readonly rounds: readonly Round[];
  /** The base policy, then what each kind of training made of it. */
  readonly phases: readonly Phase[];
  /** The radar's numbers of `before` and `after`. */
  readonly behaviour: { readonly before: Behaviour | null; readonly after: Behaviour | null };
  /** Time that the run was running, all starts together. */
  readonly seconds: number;
  readonly deadLetters: number;
}

export function summarise(input: ReportInput): Report {
  const { run, record, kinds } = input;
  const stages = completeStages(input);
  const last = stages.filter((stage) => stage > 0).at(-1);
  const names = stageNames(roundNumbers(input), kinds);
  const behaviour = (stage: number | undefined): Behaviour | null =>
    stage === undefined || !stages.includes(stage) ? null : stageBehaviour(groupsOf(input, stage));
  const measured = (stage: number | undefined): Evaluation | null =>
    stage === undefined || !stages.includes(stage) ? null : evaluate(input, stage);
  return {
    run,
    job: record.job.name,
    seed: record.seed,
    status: record.status,
    before: measured(0),
    after: measured(last),
    rounds: roundNumbers(input).map((round) => ({
      ...summariseRound(input, round, measured(round)),
      name: names.get(round) ?? String(round),
    })),
    phases: phasesOf(stages, kinds, (stage) => evaluate(input, stage)),
    behaviour: { before: behaviour(0), after: behaviour(last) },
    seconds: runningMs(input) / 1000,
    deadLetters: input.deadLetters,
  };
}

/** Stages whose evaluation counts, ascending. */
export function completeStages({ record, expected, evaluations }: ReportInput): number[] {
  const over = record.status !== 'running';
  return [...evaluations]
    .filter(([stage, groups]) => over || groups.length >= (expected.get(stage) ?? 1))
    .map(([stage]) => stage)
    .sort((a, b) => a - b);
}

function groupsOf({ evaluations }: ReportInput, stage: number): readonly Scored[] {
  return (evaluations.get(stage) ?? []).map(({ value }) => value);
}

function evaluate(input: ReportInput, stage: number): Evaluation {
  return evaluation(groupsOf(input, stage));
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

/** Metrics of a training step; those of an evaluation begin with `eval/`. */
function stepMetrics({ metrics }: ReportInput): Metric[] {
  return metrics.filter(({ name }) => !name.startsWith('eval/'));
}

function roundNumbers(input: ReportInput): number[] {
  const trained = stepMetrics(input).map(({ stage }) => stage);
  const rounds = new Set([...trained, ...completeStages(input)].filter((stage) => stage > 0));
  return [...rounds].sort((a, b) => a - b);
}

function summariseRound(
  input: ReportInput,
  round: number,
  measured: Evaluation | null,
): Omit<Round, 'name'> {
  const metrics = stepMetrics(input).filter(({ stage }) => stage === round);
  const mean = (name: string): number | null =>
    average(metrics.filter((metric) => metric.name === name).map(({ value }) => value));
  return {
    round,
    steps: new Set(metrics.map(({ step }) => step)).size,
    reward: mean('reward/mean'),
    ...(measured ?? unmeasured),
    trainAccuracy: mean('accuracy/mean'),
    entropy: mean('entropy/mean'),
    lag: mean('policy/lag'),
    seconds: measured === null ? null : secondsBetween(input, round),
  };
}

function secondsBetween({ evaluations }: ReportInput, round: number): number | null {
  const end = lastMs(evaluations.get(round) ?? []);
  const start = lastMs(evaluations.get(round - 1) ?? []);
  return start === null || end === null ? null : (end - start) / 1000;
}

function lastMs(records: readonly { readonly atMs: number }[]): number | null {
  return records.reduce<number | null>((last, { atMs }) => Math.max(last ?? atMs, atMs), null);
}

/** A start that was killed lasted until the last record that we know of before the next start. */
function runningMs({ record, evaluations, metrics }: ReportInput): number {
  const times = [...[...evaluations.values()].flat(), ...metrics].map(({ atMs }) => atMs);
  return record.starts.reduce((sum, { startedMs, endedMs }, index) => {
    const nextMs = record.starts[index + 1]?.startedMs ?? Number.POSITIVE_INFINITY;
    const within = times.filter((atMs) => atMs > startedMs && atMs <= nextMs);
    const end = endedMs ?? within.reduce((last, atMs) => Math.max(last, atMs), startedMs);
    return sum + end - startedMs;
  }, 0);
}

function average(values: readonly number[]): number | null {
  return values.length === 0 ? null : values.reduce((sum, v) => sum + v, 0) / values.length;
}
