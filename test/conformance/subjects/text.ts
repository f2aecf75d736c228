/**
 * Text and format subjects. The published copies are named as in the vector files; `variants` says which
 * dialect each one is.
 */

import { lastBoxed } from '../../../base/text/boxed.ts';
import { splitActions } from '../../../operators/dialect/actions.ts';
import { extractAnswer } from '../../../operators/dialect/answer.ts';
import { formatFault, isWellFormed } from '../../../operators/dialect/format.ts';
import { splitLogs } from '../../../operators/dialect/logs.ts';
import { repairHintPosition } from '../../../operators/dialect/repair.ts';
import { countFailedResults, resultBlocks } from '../../../operators/dialect/results.ts';
import { numberedSteps } from '../../../operators/dialect/steps.ts';
import { countPairs } from '../../../operators/dialect/tags.ts';
import { agreement } from '../../../operators/metrics/sample.ts';
import { isEquivalent, latexNormalForm } from '../../../operators/text/latex.ts';
import { rewardF1, rolloutF1 } from '../../../operators/text/overlap.ts';
import type { Variant } from '../../../operators/text/variant.ts';
import { searchCacheKey } from '../../../operators/tools/search/searchTool.ts';
import { priorReasoning } from '../../../operators/tools/web/priorReasoning.ts';
import { tagSolution } from '../../oracles/trajectory.ts';
import { paperTools } from '../../support/paperTools.ts';
import { pythonText } from '../pythonText.ts';
import { oracle, Part, type Subjects, subject } from '../subject.ts';

const variants: Readonly<Record<string, Variant>> = {
  A: 'rollout',
  B: 'selection',
  C: 'reward',
  V1: 'rollout',
  V2: 'selection',
  V3: 'reward',
  V4: 'reward',
  V4P: 'selection',
  rollout: 'rollout',
  strict: 'selection',
  reward: 'reward',
};

interface Text {
  readonly text: string;
}
interface VariantText extends Text {
  readonly variant: string;
}
interface F1Args {
  readonly variant: string;
  readonly prediction: string | null;
  readonly references: readonly string[];
}
interface Equivalence {
  readonly variant: string;
  readonly a: unknown;
  readonly b: unknown;
}

export const textSubjects: Subjects = {
  'tag-count': subject<Text & { tag: string }>(({ text, tag }) => countPairs(text, tag)),
  'format-validate': subject<VariantText>(({ variant, text }) => {
    const reason = formatFault(text, variants[variant]!, paperTools);
    return { valid: reason === null, reason };
  }),
  'boxed-extract': subject<VariantText>(({ variant, text }) => lastBoxed(text, variants[variant]!)),
  'answer-extract': subject<VariantText>(({ variant, text }) =>
    extractAnswer(text, variants[variant]!),
  ),
  'latex-normalize': subject<VariantText>(({ variant, text }) =>
    latexNormalForm(text, variants[variant]!, { unwrapText: variant.startsWith('V4') }),
  ),
  'math-equiv': subject<Equivalence>(({ variant, a, b }) => equivalence(variant, a, b)),
  f1: subject<F1Args>((args) => f1(args)),
  'split-steps': subject<Text>(({ text }) => numberedSteps(text)),
  'split-logs': subject<Text>(({ text }) => splitLogs(text, paperTools)),
  'split-actions': subject<Text>(({ text }) => splitActions(text, paperTools)),
  'rft-filter': subject<Text>(({ text }) => ({
    strictValid: isWellFormed(text, 'selection', paperTools),
    resultsOk: countFailedResults(text) === 0,
  })),
  'format-trajectory': oracle<Text & { tag: string }>(
    'no text is cut out between two tags as this check does',
    ({ text, tag }) => tagSolution(text, tag),
  ),
  'hint-position': subject<Text & { hint: string }>(({ text, hint }) =>
    repairHintPosition(text, hint),
  ),
  'prior-reasoning': subject<{ logs: readonly string[] }>(({ logs }) => priorReasoning(logs)),
  'cache-key': subject<{ query: string }>(({ query }) => searchCacheKey(query)),
  // Of the published split the product has what it measures: not the text between the results.
  radar: subject<{ output: string }>(
    ({ output }) =>
      new Part({ resultBlocks: resultBlocks(output), failedBlocks: countFailedResults(output) }),
  ),
};

/** Answers that are not strings: one copy raises on them (plain equality), the others take Python's text. */
function equivalence(variant: string, a: unknown, b: unknown): boolean {
  const plain = [a, b].every((side) => side === null || typeof side === 'string');
  if (plain) return isEquivalent(a as string | null, b as string | null, variants[variant]!);
  if (variant === 'V1' || a === null || b === null) return JSON.stringify(a) === JSON.stringify(b);
  return isEquivalent(pythonText(a), pythonText(b), variants[variant]!);
}

function f1({ variant, prediction, references }: F1Args): number {
  switch (variant) {
    case 'rollout':
      return rolloutF1(prediction, references);
    case 'evaluation-qa':
      return agreement(prediction!, references, 'qa').f1;
    case 'evaluation-math':
      return agreement(prediction!, references, 'math').f1;
    default:
      return rewardF1(prediction!, references);
  }
}
