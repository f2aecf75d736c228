/** The findings of a policy's evaluation: the paper's table, and what was asked. */
import type { Sampling } from '../../model/index.ts';
import type { GraderName } from '../../operators/metrics/graders/index.ts';
import { type BenchmarkTable, benchmarkTable } from '../../operators/metrics/index.ts';
import type { Log } from '../../streams/index.ts';
import { topics } from '../../topics/index.ts';
import type { RunFacts, RunStatus } from '../facts/facts.ts';
import { each, readRun } from '../reading.ts';
import { type BenchmarkSample, benchmarkSamples } from './samples.ts';

/** From the settings of an evaluation. */
export interface Evaluated extends Required<Sampling> {
  readonly policy: string;
  /** Name of the judge's model; null if there is none. */
  readonly judge: string | null;
  /** How answers were graded. */
  readonly grader: GraderName;
  /** Of each question. */
  readonly rollouts: number;
  readonly tools: readonly string[];
}

/** The output of `eval --json`. */
export interface Benchmarks extends BenchmarkTable, Omit<Evaluated, 'policy'> {
  readonly run: string;
  readonly status: RunStatus;
  readonly seed: number;
  readonly policy: { readonly name: string; readonly sha256: string };
  readonly questions: number;
  /** Rollouts that failed or were cancelled: they count as wrong. */
  readonly failedRollouts: number;
  readonly deadLetters: number;
  /** Time that the run was running, all starts together. */
  readonly seconds: number;
}

/** Of a run of `millrace eval`. The same records give the same table. */
export async function readBenchmarks(
  log: Log,
  { run, facts, evaluated }: Evaluation,
): Promise<{ readonly benchmarks: Benchmarks; readonly samples: readonly BenchmarkSample[] }> {
  const { evaluations, sources, deadLetters, seconds } = await readRun(log, run, facts);
  const groups = [...evaluations.values()].flatMap((measured) => measured.groups);
  const { policy, ...rest } = evaluated;
  const { seed, status } = facts;
  let sha256 = '';
  await each(log, topics.weights, ({ value }) => {
    if (sha256 === '') sha256 = value.digest ?? '';
  });
  let failedRollouts = 0;
  await each(log, topics.rollouts, ({ value }) => {
    if (value.status !== 'done') failedRollouts++;
  });
  const benchmarks: Benchmarks = {
    run,
    status,
    seed,
    policy: { name: policy, sha256 },
    questions: new Set(groups.map(({ question }) => question.id)).size,
    ...rest,
    failedRollouts,
    deadLetters,
    seconds,
    ...benchmarkTable(groups, { seed, order: sources, grader: evaluated.grader }),
  };
  return { benchmarks, samples: await benchmarkSamples(log, groups) };
}

interface Evaluation {
  readonly run: string;
  readonly facts: RunFacts;
  readonly evaluated: Evaluated;
}
