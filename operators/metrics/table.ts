/**
 * The paper's table of an evaluation (ET-Agent §9.5, §13): one row per benchmark, and the means over the rows
 * of mathematics, of knowledge, and of all. Pure: the same scored groups give the same table.
 */
import type { Ability, Reward, Scored } from '../../topics/index.ts';
import { aggregate, type BenchmarkMetrics, type ScoredSample } from './aggregate.ts';
import { callsIn } from './callParts.ts';
import { hasValidFormat } from './evaluation.ts';
import { perFailure, perToken } from './execution.ts';
import { type GraderName, graderOf } from './graders/graderOf.ts';
import { headline, isRight, type Measure, measureOf } from './headline.ts';
import { type Interval, shareInterval } from './interval.ts';
import { meanPassAtK, passSizes } from './passAtK.ts';
import { meanNumbers, type Resample, type ResampledNumbers, resampling } from './resampled.ts';
import { toolLightEfficiency } from './toolUse.ts';

/**
 * The numbers of a row that have a mean over rows. All but `reasoningLength` and the calls are shares, 0 to
 * 1.
 */
export interface TableNumbers {
  /** By `BenchmarkRow.measure`: judge, LaTeX equality or F1. */
  readonly correctness: number;
  /** Mean of correctness per tool call. */
  readonly efficiency: number;
  readonly toolCalls: number;
  /** Mean of correctness per failed call. */
  readonly successfulExecution: number;
  /** Mean of correctness per 1000 tokens of the policy's own (×1000, as the paper prints it). */
  readonly reasoningLength: number;
  /** Share of the responses without redundant calls; null without votes. */
  readonly conciseness: number | null;
}

/** A benchmark's row of the table. */
export interface BenchmarkRow extends TableNumbers {
  readonly source: string;
  readonly ability: Ability;
  readonly measure: Measure;
  readonly questions: number;
  /** Responses, all questions together. */
  readonly responses: number;
  /** 95 % interval of the correctness (`shareInterval`). */
  readonly interval: Interval;
  /** Name `pass@k` to its value; empty if each question has one response. */
  readonly passAtK: Readonly<Record<string, number>>;
  /**
   * The correctness as verl resamples it (`mean@n`, `best@k/mean`, `maj@k/mean`, …); empty if each question
   * has one response.
   */
  readonly resampled: ResampledNumbers;
  /**
   * Tool-Light's Efficiency: correctness per call, where only multi-hop sets count responses without one;
   * null if none counts. Correct = as the judge says, else exactly.
   */
  readonly toolLightEfficiency: number | null;
  /** Share of the responses that keep the grammar. */
  readonly formatValid: number;
  /** Mean share of the gold calls that were made (`task`); null without gold. */
  readonly path: number | null;
  /** Every other aggregate of the reference. */
  readonly metrics: BenchmarkMetrics;
  /** What graded the answers, if a judge or its rule did (`graderOf`); otherwise null. */
  readonly grader: string | null;
  /** Verdicts that the judge did not give; these answers count as wrong. */
  readonly judgeFailures: number;
  /** Replies of the judge without a verdict; these answers count as wrong. */
  readonly judgeUnread: number;
}

/** The table: one row per benchmark, and the means over rows. */
export interface BenchmarkTable {
  readonly rows: readonly BenchmarkRow[];
  /** Means over rows; null if there is no such row. */
  readonly averages: {
    readonly math: TableNumbers | null;
    readonly qa: TableNumbers | null;
    readonly all: TableNumbers | null;
  };
}

/** The order of the rows, and the seed of their intervals. */
export interface TableOptions {
  /** For the interval's draws. */
  readonly seed: number;
  /** Order of the rows by source; others come after, in the order of the groups. */
  readonly order?: readonly string[];
  /** What graded the answers (default `papers`). */
  readonly grader?: GraderName;
}

/** The table of scored groups of phase `evaluate` that one policy answered. */
export function benchmarkTable(groups: readonly Scored[], options: TableOptions): BenchmarkTable {
  const resample = resampling();
  const bySource = new Map<string, Scored[]>((options.order ?? []).map((name) => [name, []]));
  for (const group of groups) {
    const { source } = group.question;
    bySource.set(source, [...(bySource.get(source) ?? []), group]);
  }
  const rows = [...bySource]
    .filter(([, members]) => members.length > 0)
    .map(([source, members]) => rowOf(source, members, options, resample));
  const of = (ability: Ability): readonly BenchmarkRow[] =>
    rows.filter((row) => row.ability === ability);
  return { rows, averages: { math: means(of('math')), qa: means(of('qa')), all: means(rows) } };
}

/** One response with its reward. */
interface Response {
  readonly correct: number;
  readonly calls: number;
  readonly parts: Reward['parts'];
}

function responsesOf({ question, rewards, toolCalls }: Scored): Response[] {
  return rewards.map(({ parts }, i) => ({
    correct: headline(parts, question),
    calls: sumOf(callsIn(parts)) ?? toolCalls[i]!,
    parts,
  }));
}

function rowOf(
  source: string,
  groups: readonly Scored[],
  { seed, grader = 'papers' }: TableOptions,
  resample: Resample,
): BenchmarkRow {
  const { ability } = groups[0]!.question;
  const perQuestion = groups.map(responsesOf);
  const responses = perQuestion.flat();
  const parts = responses[0]?.parts ?? {};
  const mean = (value: (response: Response) => number): number => meanOf(responses.map(value));
  const samples = responses.map(({ parts, calls }) => sampleOf(parts, calls));
  return {
    source,
    ability,
    measure: measureOf(parts, { ability, source }),
    questions: new Set(groups.map(({ question }) => question.id)).size,
    responses: responses.length,
    correctness: mean(({ correct }) => correct),
    interval: shareInterval(
      perQuestion.map((tries) => meanOf(tries.map(({ correct }) => correct))),
      { seed },
    ),
    efficiency: mean(({ correct, calls }) => (calls > 0 ? correct / calls : correct)),
    toolCalls: mean(({ calls }) => calls),
    ...behaviourOf(responses),
    passAtK: passTable(
      groups.map(({ rewards }) => ({
        n: rewards.length,
        right: rewards.filter((reward) => isRight(reward.parts, ability)).length,
      })),
    ),
    resampled: resampledOf(perQuestion, resample),
    toolLightEfficiency: toolLightEfficiency(
      source,
      responses.map(({ parts, calls }) => ({
        correct: isRight(parts, ability) ? 1 : 0,
        toolCalls: calls,
      })),
    ),
    path: pathOf(responses),
    formatValid: mean(({ parts }) => (hasValidFormat(parts) ? 1 : 0)),
    metrics: aggregate(samples, ability, parts.judged !== undefined),
    grader: parts.judged === undefined ? null : graderOf(grader, source).name,
    judgeFailures: responses.filter(({ parts }) => (parts.judgeFailed ?? 0) > 0).length,
    judgeUnread: responses.filter(({ parts }) => (parts.judgeUnread ?? 0) > 0).length,
  };
}

/** The radar metrics; those whose parts are missing are 0, conciseness null. */
function behaviourOf(
  responses: readonly Response[],
): Pick<BenchmarkRow, 'successfulExecution' | 'reasoningLength' | 'conciseness'> {
  const voted = responses.filter(({ parts }) => parts.concise !== undefined);
  return {
    successfulExecution: meanOf(responses.map((r) => perFailure(r.correct, executionIn(r.parts)))),
    reasoningLength: 1000 * meanOf(responses.map((r) => perToken(r.correct, executionIn(r.parts)))),
    conciseness: voted.length === 0 ? null : meanOf(voted.map(({ parts }) => parts.concise!)),
  };
}

function pathOf(responses: readonly Response[]): number | null {
  const known = responses.flatMap(({ parts: { path } }) => (path === undefined ? [] : [path]));
  return known.length === 0 ? null : meanOf(known);
}

function executionIn(parts: Reward['parts']) {
  const { resultBlocks = 0, failedResults = 0, thinkingLength = 0 } = parts;
  return { resultBlocks, failedResults, thinkingLength };
}

/** Only for questions that all have the same number of responses, more than one. */
function passTable(tries: readonly { n: number; right: number }[]): Record<string, number> {
  const n = Math.min(...tries.map((each) => each.n));
  if (n < 2) return {};
  return Object.fromEntries(passSizes(n).map((k) => [`pass@${k}`, meanPassAtK(tries, k)]));
}

/** Only for questions of several responses. */
function resampledOf(
  perQuestion: readonly (readonly Response[])[],
  resample: Resample,
): ResampledNumbers {
  if (perQuestion.some((tries) => tries.length < 2)) return {};
  return meanNumbers(
    perQuestion.map((tries) => {
      const votes = tries.flatMap(({ parts: { vote } }) => (vote === undefined ? [] : [vote]));
      const values = tries.map(({ correct }) => correct);
      return resample({ values, ...(votes.length === tries.length ? { votes } : {}) });
    }),
  );
}

function sampleOf(parts: Reward['parts'], calls: number): ScoredSample {
  const { outputLength = 0, judged } = parts;
  return {
    valid: (parts.valid ?? 1) > 0,
    exact: parts.exact ?? 0,
    contains: parts.contains ?? 0,
    f1: parts.f1 ?? 0,
    mathEqual: parts.mathEqual ?? parts.raw ?? 0,
    toolCalls: calls,
    calls: callsIn(parts) ?? {},
    outputLength,
    ...(judged === undefined ? {} : { judged }),
  };
}

function means(rows: readonly BenchmarkRow[]): TableNumbers | null {
  if (rows.length === 0) return null;
  const mean = (name: Exclude<keyof TableNumbers, 'conciseness'>): number =>
    meanOf(rows.map((row) => row[name]));
  const concise = rows.flatMap(({ conciseness }) => (conciseness === null ? [] : [conciseness]));
  return {
    correctness: mean('correctness'),
    efficiency: mean('efficiency'),
    toolCalls: mean('toolCalls'),
    successfulExecution: mean('successfulExecution'),
    reasoningLength: mean('reasoningLength'),
    conciseness: concise.length < rows.length ? null : meanOf(concise),
  };
}

function sumOf(calls: Readonly<Record<string, number>> | null): number | null {
  return calls === null ? null : Object.values(calls).reduce((sum, count) => sum + count, 0);
}

function meanOf(values: readonly number[]): number {
  return values.length === 0 ? 0 : values.reduce((sum, value) => sum + value, 0) / values.length;
}
