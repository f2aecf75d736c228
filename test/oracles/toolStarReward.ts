/**
 * The outcome rewards of Tool-Star (§3.5). Knowledge is scored as deep search is; a mathematical answer earns
 * 1, a wrong one in good form 0.1, and a fault of form nothing.
 */

import { lastBoxed } from '../../base/text/boxed.ts';
import { firstAnswerBlock } from '../../operators/dialect/answer.ts';
import { isWellFormed } from '../../operators/dialect/format.ts';
import { strictBoxContent } from '../../operators/rewards/deepResearch.ts';
import { strip } from '../../operators/text/characters.ts';
import { finalAnswerForm } from '../../operators/text/finalAnswer.ts';
import { isEquivalent } from '../../operators/text/latex.ts';

const GOOD_FORM = 0.1;

/**
 * What the comparison of two answers rests on: the same text, two numbers, the same normal form, or nothing
 * (they differ, and only algebra could tell whether they mean the same).
 */
export type ComparisonBasis = 'text' | 'numbers' | 'form' | 'nothing';

/** What a mathematical response earns, and what its comparison rests on; null when it was not compared. */
export interface MathVerdict {
  readonly score: number;
  readonly basis: ComparisonBasis | null;
}

/**
 * Verdict on one response to a mathematical question. A response that does not end with `endText` ran out of
 * room and earns nothing. The published reward asks a symbolic verifier where this rests on a form or on
 * nothing.
 */
export function mathVerdict(
  response: string,
  reference: string,
  tools: readonly string[],
  endText: string,
): MathVerdict {
  const block = isWellFormed(response, 'reward', tools) ? firstAnswerBlock(response) : null;
  const answer = block === null ? null : strictBoxContent(lastBoxed(block, 'reward'));
  if (answer === null || !response.endsWith(endText)) return { score: 0, basis: null };
  const { same, basis } = compareAnswers(answer, reference);
  return { score: same ? 1 : GOOD_FORM, basis };
}

/** Compares two mathematical answers. */
export function compareAnswers(
  answer: string,
  reference: string,
): { readonly same: boolean; readonly basis: ComparisonBasis } {
  if (strip(answer).toLowerCase() === strip(reference).toLowerCase()) {
    return { same: true, basis: 'text' };
  }
  const forms = [finalAnswerForm(answer), finalAnswerForm(reference)] as const;
  const [a, b] = forms.map(numberOf);
  if (a !== null && b !== null) return { same: a === b, basis: 'numbers' };
  const same = isEquivalent(...forms, 'reward');
  return { same, basis: same ? 'form' : 'nothing' };
}

/** The number that a normal form writes out (`-3`, `1.5`, `\frac{15}{8}`); null for anything else. */
function numberOf(form: string): number | null {
  const plain = form.replace(/\\$/, '');
  if (/^-?\d+(?:\.\d+)?$/.test(plain)) return Number(plain);
  const fraction = /^(-?)\\frac\{(-?\d+)\}\{(\d+)\}$/.exec(plain);
  if (fraction === null) return null;
  const [, sign, above, below] = fraction;
  return ((sign === '-' ? -1 : 1) * Number(above)) / Number(below);
}

/** The assistant's turn of a decoded chat; null when the sequence has no mark of one. */
export function assistantTurn(sequence: string): string | null {
  const mark = ['<|im_start|>assistant\n', 'Assistant:'].find((text) => sequence.includes(text));
  return mark === undefined ? null : sequence.split(mark)[1]!;
}
