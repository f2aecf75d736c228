/**
 * The efficiency reward of ET-Agent (§8.5): a right answer is worth more when it took fewer tool calls and
 * fewer tokens than the rest of the group needed, and a malformed trajectory costs one point.
 *
 *     score = raw · f(σ_tool · (t - mean t)) · f(σ_length · (z - mean z)) + format
 *
 * t = finished tool calls, z = length standardised within the group, f(x) = 2 / (1 + exp x): between 0 and 2,
 * and 1 at the mean. With σ = 0 the reward is accuracy and format alone.
 */
import type { Question, Reward } from '../../topics/index.ts';
import { countToolCalls } from '../dialect/tags.ts';
import { correctness } from './accuracy.ts';
import { faultOf, ownTexts, type PureReward } from './reward.ts';

/**
 * A constant, or one that depends on the question (on its round, for example: σ shrinks from round to round).
 */
export type Sigma = number | ((question: Question) => number);

/** The strength of the two factors; 0 switches one off (it is then 1, or 1/2 in mode `paper`). */
export interface EfficiencyOptions {
  readonly sigmaTool: Sigma;
  readonly sigmaLength: Sigma;
  /**
   * `reference` (default): as released; answers of knowledge questions match or do not, f has numerator 2.
   * `paper`: word F1 for knowledge questions, f has numerator 1, lengths without tool results
   * (`policyLengths`; if the group does not say them, `lengths`).
   */
  readonly mode?: 'reference' | 'paper';
}

/** Parts: `raw`, `tool`, `length`, `format` (0 or -1), `toolCalls`, `f1`. */
export function efficiency(options: EfficiencyOptions): PureReward {
  const paper = options.mode === 'paper';
  return (group) => {
    const { question, tools, lengths, policyLengths = lengths } = group;
    const texts = ownTexts(group);
    const calls = texts.map((text) => countToolCalls(text, tools));
    const toolFactors = factors(calls, sigmaOf(options.sigmaTool, question), paper ? 1 : 2);
    const lengthFactors = factors(
      standardised(paper ? policyLengths : lengths),
      sigmaOf(options.sigmaLength, question),
      paper ? 1 : 2,
    );
    return texts.map((text, i): Reward => {
      const { raw, f1 } = correctness(question, text, paper ? 'f1' : 'match');
      const tool = toolFactors[i]!;
      const length = lengthFactors[i]!;
      const format = faultOf(group, text) === null ? 0 : -1;
      return {
        score: raw * tool * length + format,
        parts: { raw, tool, length, format, toolCalls: calls[i]!, f1 },
      };
    });
  };
}

/**
 * How the strength of the reward fades within a round (ET-Agent §8.6), to be multiplied with a σ: from 1 at
 * the first `step` (from 1) of `stepsTotal` to 0 at the last; 0 for a round of one step.
 */
export function sigmaFactor(step: number, stepsTotal: number): number {
  if (stepsTotal <= 1) return 0;
  return Math.max(0, (stepsTotal - step) / (stepsTotal - 1));
}

function sigmaOf(sigma: Sigma, question: Question): number {
  return typeof sigma === 'number' ? sigma : sigma(question);
}

/** numerator / (1 + exp(σ · (x - mean x))) of each. */
function factors(values: readonly number[], sigma: number, numerator: number): number[] {
  const average = mean(values);
  return values.map((value) => numerator / (1 + Math.exp(sigma * (value - average))));
}

/** Distance from the mean in population deviations; all 0 if all are equal. */
function standardised(values: readonly number[]): number[] {
  const average = mean(values);
  const deviation = Math.sqrt(mean(values.map((value) => (value - average) ** 2)));
  return values.map((value) => (deviation === 0 ? 0 : (value - average) / deviation));
}

/** Left-to-right sum over count, as the reference sums here. */
function mean(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}
