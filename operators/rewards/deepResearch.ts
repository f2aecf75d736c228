/**
 * The outcome reward of ARPO's deep search (§3.2): -1 for a fault of format, otherwise the word F1 of the
 * boxed answer, and 0.1 on top of a right answer that used several tools (the paper has two and requires
 * both).
 */

import { lastBoxed } from '../../base/text/index.ts';
import { firstAnswerBlock } from '../dialect/answer.ts';
import { type FormatFault, formatFault } from '../dialect/format.ts';
import { plainWords, wordF1 } from '../text/overlap.ts';
import { faultOf, ownTexts, type PureReward } from './reward.ts';

const SEVERAL_TOOLS_BONUS = 0.1;

/** What one response got, and why. */
export interface OutcomeVerdict {
  readonly score: number;
  readonly f1: number;
  readonly answer: string;
  readonly reason: FormatFault | 'box-error' | 'wrong' | 'correct' | 'correct-several-tools';
}

/**
 * Verdict on one response; `tools` are the tags that call a tool. `endText` is the text of the end token,
 * dropped if it ends the response; `fault` = what is wrong with its form, as the tags have it unless
 * given.
 */
export function outcomeVerdict(
  response: string,
  references: readonly string[],
  tools: readonly string[],
  endText = '',
  fault: FormatFault | null = formatFault(response, 'reward', tools),
): OutcomeVerdict {
  if (fault !== null) return { score: -1, f1: 0, answer: '', reason: fault };
  const text =
    endText !== '' && response.endsWith(endText) ? response.slice(0, -endText.length) : response;
  const block = firstAnswerBlock(text);
  const answer = block === null ? null : strictBoxContent(lastBoxed(block, 'reward'));
  if (answer === null) return { score: -1, f1: 0, answer: '', reason: 'box-error' };
  const f1 = guardedF1(answer, references);
  if (f1 === 0) return { score: 0, f1, answer, reason: 'wrong' };
  const used = tools.filter((tool) => response.includes(`</${tool}>`));
  return used.length >= 2
    ? { score: f1 + SEVERAL_TOOLS_BONUS, f1, answer, reason: 'correct-several-tools' }
    : { score: f1, f1, answer, reason: 'correct' };
}

/** The reward; parts `f1` and `format` (0 or -1). */
export function deepResearch(): PureReward {
  return (group) =>
    ownTexts(group).map((text) => {
      const { answers } = group.question;
      const fault = faultOf(group, text);
      const { score, f1 } = outcomeVerdict(text, answers, group.tools, '', fault);
      return { score, parts: { raw: f1, f1, format: score < 0 ? -1 : 0 } };
    });
}

/** The content of a box: `\boxed{…}`, or the spaced `\boxed …`; null for any other form. */
export function strictBoxContent(box: string | null): string | null {
  if (box === null) return null;
  if (box.includes('\\boxed '))
    return box.startsWith('\\boxed ') ? box.slice('\\boxed '.length) : null;
  return box.startsWith('\\boxed{') && box.endsWith('}') ? box.slice('\\boxed{'.length, -1) : null;
}

/** Word F1, best over the references; "yes", "no" and "no answer" match only themselves. */
function guardedF1(prediction: string, references: readonly string[]): number {
  const predicted = plainWords(prediction);
  return references.reduce((best, reference) => {
    const expected = plainWords(reference);
    const differ = predicted.join(' ') !== expected.join(' ');
    if (differ && (isVerdictWord(predicted) || isVerdictWord(expected))) return best;
    return Math.max(best, wordF1(predicted, expected));
  }, 0);
}

function isVerdictWord(words: readonly string[]): boolean {
  return words.length === 1 && ['yes', 'no', 'noanswer'].includes(words[0]!);
}
