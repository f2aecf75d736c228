/**
 * Text and format subjects. The published copies are named as in the vector files; `dialects` says which
 * dialect each one is.
 */
import { splitActions } from '../../../operators/text/actions.ts';
import { extractAnswer } from '../../../operators/text/answer.ts';
import { lastBoxed } from '../../../operators/text/boxed.ts';
import type { Dialect } from '../../../operators/text/dialect.ts';
import { formatFault, isWellFormed } from '../../../operators/text/format.ts';
import { isEquivalent, latexNormalForm } from '../../../operators/text/latex.ts';
import { evaluationF1, rewardF1, rolloutF1 } from '../../../operators/text/overlap.ts';
import { priorReasoning } from '../../../operators/text/priorReasoning.ts';
import { repairHintPosition, tagSolution } from '../../../operators/text/repair.ts';
import { countFailedResults, resultBlocks, thinkingText } from '../../../operators/text/results.ts';
import { searchKey } from '../../../operators/text/searchKey.ts';
import { numberedSteps, splitLogs } from '../../../operators/text/steps.ts';
import { countPairs } from '../../../operators/text/tags.ts';
import { pythonText } from '../pythonText.ts';
import { type Subjects, subject } from '../subject.ts';

const dialects: Readonly<Record<string, Dialect>> = {
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
interface Variant extends Text {
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
  'format-validate': subject<Variant>(({ variant, text }) => {
    const reason = formatFault(text, dialects[variant]!);
    return { valid: reason === null, reason };
  }),
  'boxed-extract': subject<Variant>(({ variant, text }) => lastBoxed(text, dialects[variant]!)),
  'answer-extract': subject<Variant>(({ variant, text }) =>
    extractAnswer(text, dialects[variant]!),
  ),
  'latex-normalize': subject<Variant>(({ variant, text }) =>
    latexNormalForm(text, dialects[variant]!, { unwrapText: variant.startsWith('V4') }),
  ),
  'math-equiv': subject<Equivalence>(({ variant, a, b }) => equivalence(variant, a, b)),
  f1: subject<F1Args>((args) => f1(args)),
  'split-steps': subject<Text>(({ text }) => numberedSteps(text)),
  'split-logs': subject<Text>(({ text }) => splitLogs(text)),
  'split-actions': subject<Text>(({ text }) => splitActions(text)),
  'rft-filter': subject<Text>(({ text }) => ({
    strictValid: isWellFormed(text, 'selection'),
    resultsOk: countFailedResults(text) === 0,
  })),
  'format-trajectory': subject<Text & { tag: string }>(({ text, tag }) => tagSolution(text, tag)),
  'hint-position': subject<Text & { hint: string }>(({ text, hint }) =>
    repairHintPosition(text, hint),
  ),
  'prior-reasoning': subject<{ logs: readonly string[] }>(({ logs }) => priorReasoning(logs)),
  'cache-key': subject<{ query: string }>(({ query }) => searchKey(query)),
  radar: subject<{ output: string }>(({ output }) => ({
    resultBlocks: resultBlocks(output),
    failedBlocks: countFailedResults(output),
    thinkingText: thinkingText(output),
  })),
};

/** Answers that are no strings: one copy raises on them (plain equality), the others take Python's text. */
function equivalence(variant: string, a: unknown, b: unknown): boolean {
  const plain = [a, b].every((side) => side === null || typeof side === 'string');
  if (plain) return isEquivalent(a as string | null, b as string | null, dialects[variant]!);
  if (variant === 'V1' || a === null || b === null) return JSON.stringify(a) === JSON.stringify(b);
  return isEquivalent(pythonText(a), pythonText(b), dialects[variant]!);
}

function f1({ variant, prediction, references }: F1Args): number {
  switch (variant) {
    case 'rollout':
      return rolloutF1(prediction, references);
    case 'evaluation-qa':
      return evaluationF1(prediction!, references, 'removed');
    case 'evaluation-math':
      return evaluationF1(prediction!, references, 'kept');
    default:
      return rewardF1(prediction!, references);
  }
}
