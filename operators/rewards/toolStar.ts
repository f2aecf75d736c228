/**
 * The outcome rewards of Tool-Star (§3.5). Knowledge is scored as deep search is; a mathematical answer earns 1, a
 * wrong one in good form 0.1, and a fault of form nothing.
 */
import { firstAnswerBlock } from '../text/answer.ts';
import { lastBoxed } from '../text/boxed.ts';
import { strip } from '../text/characters.ts';
import { finalAnswerForm } from '../text/finalAnswer.ts';
import { isWellFormed } from '../text/format.ts';
import { isEquivalent } from '../text/latex.ts';
import { strictBoxContent } from './deepResearch.ts';

const GOOD_FORM = 0.1;

/**
 * Score of one response to a mathematical question. A response that does not end with `endText` ran out of room
 * and earns nothing.
 */
export function mathOutcome(response: string, reference: string, endText: string): number {
  if (!isWellFormed(response, 'reward')) return 0;
  const block = firstAnswerBlock(response);
  const answer = block === null ? null : strictBoxContent(lastBoxed(block, 'reward'));
  if (answer === null || !response.endsWith(endText)) return 0;
  return isSameAnswer(answer, reference) ? 1 : GOOD_FORM;
}

/**
 * Whether two mathematical answers are the same: as text, or in their normal forms. The published reward asks a
 * symbolic verifier in between, which this does not have; it calls more answers equal.
 */
export function isSameAnswer(answer: string, reference: string): boolean {
  if (strip(answer).toLowerCase() === strip(reference).toLowerCase()) return true;
  return isEquivalent(finalAnswerForm(answer), finalAnswerForm(reference), 'reward');
}

/** The assistant's turn of a decoded chat; null when the sequence has no mark of one. */
export function assistantTurn(sequence: string): string | null {
  const mark = ['<|im_start|>assistant\n', 'Assistant:'].find((text) => sequence.includes(text));
  return mark === undefined ? null : sequence.split(mark)[1]!;
}
