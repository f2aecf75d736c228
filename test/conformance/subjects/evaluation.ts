/**
 * Evaluation metrics: samples, aggregates, resampling, judge replies.
 */

import { aggregate, type ScoredSample } from '../../../operators/metrics/aggregate.ts';
import { redundancyVote, saysCorrect } from '../../../operators/metrics/graders/judge.ts';
import { meanNumbers, resampling } from '../../../operators/metrics/resampled.ts';
import { evaluateSample, predictionOf } from '../../../operators/metrics/sample.ts';
import { isEquivalent } from '../../../operators/text/latex.ts';
import type { Ability } from '../../../topics/index.ts';
import { paperTools } from '../../support/paperTools.ts';
import { pythonText } from '../pythonText.ts';
import { type Subjects, subject } from '../subject.ts';

interface SampleArgs {
  readonly task: Ability;
  readonly output: string;
  readonly prediction: string;
  readonly gold: unknown;
  readonly judge?: number;
  readonly judgeReply?: string;
}
interface Item {
  /** Absent when there was an error. */
  readonly metrics?: Readonly<Record<string, number>>;
}
interface AggregateArgs {
  readonly task: Ability;
  readonly useJudge: boolean;
  readonly items: readonly Item[];
}
interface BootstrapArgs {
  readonly sources: readonly string[];
  readonly prompts: readonly string[];
  readonly fields: Readonly<Record<string, readonly number[] | readonly string[]>>;
  readonly seed: number;
}

export const evaluationSubjects: Subjects = {
  'eval-metrics': subject<SampleArgs>(sampleMetrics),
  'eval-aggregate': subject<AggregateArgs>(benchmarkMetrics),
  'eval-bootstrap': subject<BootstrapArgs>(resampledNumbers),
  'radar-vote': subject<{ reply: string }>(({ reply }) => redundancyVote(reply)),
};

function sampleMetrics(args: SampleArgs): unknown {
  const sample = {
    ability: args.task,
    output: args.output,
    prediction: args.prediction,
    references: references(args.gold, args.task),
    tools: paperTools,
  };
  const got = evaluateSample(sample);
  const judged = args.judge !== undefined || args.judgeReply !== undefined;
  const equal =
    typeof args.gold === 'string' && isEquivalent(predictionOf(sample), args.gold, 'rollout');
  const verdict = equal || args.judge === 1 || saysCorrect(args.judgeReply ?? '');
  return {
    is_valid_answer: got.valid,
    em: got.exact,
    acc: got.contains,
    f1: got.f1,
    math_equal: got.mathEqual,
    python_calls: got.calls.python,
    search_calls: got.calls.search,
    tool_counts: got.toolCalls,
    tools_used: toolsUsed(got.calls),
    output_length: got.outputLength,
    ...(judged || !got.valid ? { llm_equal: got.valid && verdict ? 1 : 0 } : {}),
  };
}

/** How the published code names the tools that a response called. */
function toolsUsed(calls: Readonly<Record<string, number>>): string {
  const used = Object.keys(calls).filter((tool) => calls[tool]! > 0);
  return used.length === 2 ? 'both' : (used[0] ?? 'none');
}

/** How the published loader reads a gold value: a list in brackets is split, truth values become text. */
function references(gold: unknown, task: Ability): string[] {
  if (Array.isArray(gold)) return gold.map(pythonText);
  if (task === 'math') return [pythonText(gold)];
  if (typeof gold === 'boolean') return [pythonText(gold)];
  if (typeof gold !== 'string') throw new Error(`no references in ${String(gold)}`);
  return gold.startsWith('[') ? gold.replace(/^\[+|\]+$/g, '').split(/, */) : [gold];
}

function benchmarkMetrics({ task, useJudge, items }: AggregateArgs): unknown {
  const samples = items.map(({ metrics }): ScoredSample => {
    if (metrics === undefined || 'status' in metrics) return null;
    return {
      valid: Boolean(metrics.is_valid_answer),
      exact: metrics.em!,
      contains: metrics.acc!,
      f1: metrics.f1!,
      mathEqual: metrics.math_equal!,
      calls: { python: metrics.python_calls!, search: metrics.search_calls! },
      toolCalls: metrics.tool_counts!,
      outputLength: metrics.output_length!,
      judged: metrics.llm_equal ?? 0,
    };
  });
  const got = aggregate(samples, task, useJudge);
  return {
    em: got.exact,
    acc: got.contains,
    f1: got.f1,
    math_equal: got.mathEqual,
    num_valid_answer: `${got.validAnswers} of ${got.samples}`,
    tool_productivity: got.toolProductivity,
    average_datas_used_tool_number: got.toolUsers,
    tool_call: got.toolCalls,
    average_python_calls: got.calls.python ?? 0,
    average_search_calls: got.calls.search ?? 0,
    llm_equal: got.judged,
    m1m2: got.toolProductivity,
    efficiency: got.efficiency,
  };
}

function resampledNumbers({ sources, prompts, fields, seed }: BootstrapArgs): unknown {
  const numeric = Object.entries(fields).filter(([, values]) => typeof values[0] === 'number');
  const resample = resampling(seed);
  return Object.fromEntries(
    [...new Set(sources)].map((source) => {
      const rows = [...sources.keys()].filter((i) => sources[i] === source);
      const groups = [...new Set(rows.map((i) => prompts[i]))].map((prompt) =>
        rows.filter((i) => prompts[i] === prompt),
      );
      const columns = numeric.map(([name, values]) => {
        const perPrompt = groups.map((group) =>
          resample({
            values: group.map((i) => values[i] as number),
            ...(fields.pred ? { votes: group.map((i) => fields.pred![i] as string) } : {}),
          }),
        );
        return [name, meanNumbers(perPrompt)];
      });
      return [source, Object.fromEntries(columns)];
    }),
  );
}
