/**
 * The numbers of a benchmark from those of its samples (ET-Agent §9.5). A sample that timed out counts as
 * zeros.
 */
import type { Ability } from '../../topics/index.ts';
import type { SampleMetrics } from './sample.ts';

/** A sample's numbers with the judge's verdict (1 or 0); null = no result (a timeout). */
export type ScoredSample = (SampleMetrics & { readonly judged?: number }) | null;

export interface BenchmarkMetrics {
  readonly exact: number;
  readonly contains: number;
  readonly f1: number;
  readonly mathEqual: number;
  readonly judged: number;
  readonly toolCalls: number;
  /** Mean calls of each tool, by tag. */
  readonly calls: Readonly<Record<string, number>>;
  /** Share of the samples with a tool call or more. */
  readonly toolUsers: number;
  /**
   * Mean over samples of c / T, or c without a call; c = judged (mathematics) or F1 (knowledge). A
   * mathematical sample without a judgement counts by LaTeX equality (the reference has 0 there).
   */
  readonly efficiency: number;
  /** 100 · A · T / (T + 0.1): A = the headline accuracy, T = mean tool calls. */
  readonly toolProductivity: number;
  readonly validAnswers: number;
  readonly samples: number;
}

const PRODUCTIVITY_SMOOTHING = 0.1;

/** `useJudge`: the judge's verdicts are the headline accuracy, instead of LaTeX equality or F1. */
export function aggregate(
  samples: readonly ScoredSample[],
  ability: Ability,
  useJudge: boolean,
): BenchmarkMetrics {
  const mean = (value: (sample: NonNullable<ScoredSample>) => number) => {
    const sum = samples.reduce((total, sample) => total + (sample === null ? 0 : value(sample)), 0);
    return samples.length === 0 ? 0 : sum / samples.length;
  };
  const judged = mean((sample) => sample.judged ?? 0);
  const mathEqual = mean((sample) => sample.mathEqual);
  const f1 = mean((sample) => sample.f1);
  const toolCalls = mean((sample) => sample.toolCalls);
  const own = ability === 'math' ? mathEqual : f1;
  const accuracy = useJudge ? judged : own;
  return {
    exact: mean((sample) => sample.exact),
    contains: mean((sample) => sample.contains),
    f1,
    mathEqual,
    judged,
    toolCalls,
    calls: Object.fromEntries(
      [...new Set(samples.flatMap((sample) => Object.keys(sample?.calls ?? {})))].map((tool) => [
        tool,
        mean((sample) => sample.calls[tool] ?? 0),
      ]),
    ),
    toolUsers: mean((sample) => (sample.toolCalls > 0 ? 1 : 0)),
    efficiency: mean((sample) => {
      const correct = ability === 'math' ? (sample.judged ?? sample.mathEqual) : sample.f1;
      return sample.toolCalls > 0 ? correct / sample.toolCalls : correct;
    }),
    toolProductivity: ((accuracy * toolCalls) / (toolCalls + PRODUCTIVITY_SMOOTHING)) * 100,
    validAnswers: samples.filter((sample) => sample?.valid).length,
    samples: samples.length,
  };
}
