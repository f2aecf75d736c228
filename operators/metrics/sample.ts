/**
 * The numbers of one evaluated response (ET-Agent §9.3): whether the answer is right by several measures, and
 * what it cost.
 */
import type { Ability } from '../../topics/index.ts';
import { countPairs, withoutBlocks } from '../dialect/tags.ts';
import { codePoints, strip, words } from '../text/characters.ts';
import { isEquivalent } from '../text/latex.ts';
import { evaluationForm, wordF1 } from '../text/overlap.ts';

export interface EvaluatedSample {
  readonly ability: Ability;
  /** The whole response, and the answer that was extracted from it (may be empty). */
  readonly output: string;
  /**
   * The response with its results emptied. Left out = `output`: a tool's words then count as the policy's.
   */
  readonly own?: string;
  readonly prediction: string;
  /** A verifier has found the prediction equal to a reference. */
  readonly equal?: boolean;
  readonly references: readonly string[];
  /** The tags of the tools that it may call. */
  readonly tools: readonly string[];
}

/** How well the answer agrees with the best reference, separately for each measure. */
export interface Agreement {
  /** 1 if the normal forms are the same. */
  readonly exact: number;
  /** 1 if the prediction contains the reference. */
  readonly contains: number;
  readonly f1: number;
  /** 1 if both are the same as LaTeX. */
  readonly mathEqual: number;
}

export interface SampleMetrics extends Agreement {
  /** False if there was nothing to compare; all numbers are 0 then. */
  readonly valid: boolean;
  /** Finished calls of each tool, by tag, and of all together. */
  readonly calls: Readonly<Record<string, number>>;
  readonly toolCalls: number;
  /** Code points without result blocks. */
  readonly outputLength: number;
}

const NONE: Agreement = { exact: 0, contains: 0, f1: 0, mathEqual: 0 };
const LINES_KEPT = 5;

export function evaluateSample(sample: EvaluatedSample): SampleMetrics {
  const prediction = predictionOf(sample);
  const { ability, tools, output, own = output } = sample;
  const valid = prediction !== '';
  const counts = tools.map((tool) => (valid ? countPairs(own, tool) : 0));
  return {
    valid,
    ...(valid ? agreement(prediction, sample.references, ability) : NONE),
    calls: Object.fromEntries(tools.map((tool, i) => [tool, counts[i]!])),
    toolCalls: counts.reduce((sum, count) => sum + count, 0),
    outputLength: valid ? codePoints(ownText(own)) : 0,
  };
}

/** The extracted answer, or the last five lines of the response if there is none. */
export function predictionOf({ prediction, output, own = output }: EvaluatedSample): string {
  if (prediction !== '') return prediction;
  return strip(own.replaceAll('\n\n', '\n')).split('\n').slice(-LINES_KEPT).join('\n');
}

/** The best of each measure over the references. Articles count for mathematics only. */
export function agreement(
  prediction: string,
  references: readonly string[],
  ability: Ability,
): Agreement {
  const articles = ability === 'math' ? 'kept' : 'removed';
  const given = evaluationForm(prediction, articles);
  return references
    .map((reference) => agreementWith(given, evaluationForm(reference, articles)))
    .reduce((best, one) => bestOf(best, one), NONE);
}

function agreementWith(given: string, wanted: string): Agreement {
  return {
    exact: given === wanted ? 1 : 0,
    contains: given.includes(wanted) ? 1 : 0,
    f1: wordF1(words(given), words(wanted)),
    mathEqual: isEquivalent(given, wanted, 'rollout') ? 1 : 0,
  };
}

function bestOf(a: Agreement, b: Agreement): Agreement {
  return {
    exact: Math.max(a.exact, b.exact),
    contains: Math.max(a.contains, b.contains),
    f1: Math.max(a.f1, b.f1),
    mathEqual: Math.max(a.mathEqual, b.mathEqual),
  };
}

function ownText(output: string): string {
  return strip(withoutBlocks(withoutBlocks(output, 'r'), 'result'));
}
