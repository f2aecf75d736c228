/**
 * Tool-Star's rewards as released (§3.5). Knowledge is rewarded as deep search is. A mathematical response
 * earns 1 for the right answer in its box, 0.1 for another answer in good form, and nothing for a fault of
 * form or a response that ran out of tokens.
 *
 * A verifier decides whether two mathematical answers are the same (the release asks math-verify); without
 * one their normal forms decide, which know no algebra: `x(x+5)` is not `x^2+5x` then.
 */
import { lastBoxed } from '../../base/text/index.ts';
import type { Reward } from '../../topics/index.ts';
import { firstAnswerBlock } from '../dialect/answer.ts';
import type { FormatFault } from '../dialect/format.ts';
import { strip } from '../text/characters.ts';
import { finalAnswerForm } from '../text/finalAnswer.ts';
import { isEquivalent } from '../text/latex.ts';
import { outcomeVerdict, strictBoxContent } from './deepResearch.ts';
import { faultOf, ownTexts, type RewardFunction } from './reward.ts';

/** Whether an answer means the same as a reference; null = the verifier cannot tell. */
export type VerifyAnswer = (
  answer: string,
  reference: string,
  signal?: AbortSignal,
) => Promise<boolean | null>;

export interface ToolStarOptions {
  /** Left out = normal forms decide. */
  readonly verify?: VerifyAnswer | undefined;
}

const GOOD_FORM = 0.1;

/** Parts: `raw` (1 or 0; word F1 of knowledge), `format` (0 or -1). */
export function toolStarOutcome({ verify }: ToolStarOptions = {}): RewardFunction {
  return async (group, signal) => {
    const { question, tools, rollouts } = group;
    const rewards: Reward[] = [];
    for (const [i, text] of ownTexts(group).entries()) {
      const fault = faultOf(group, text);
      const format = fault === null ? 0 : -1;
      if (question.ability === 'qa') {
        const { score, f1 } = outcomeVerdict(text, question.answers, tools, '', fault);
        rewards.push({ score, parts: { raw: f1, format } });
        continue;
      }
      const isWhole = rollouts?.[i]?.finish !== 'length';
      const answer = isWhole ? boxedAnswer(text, fault) : null;
      const isRight =
        answer !== null && (await isSameAnswer(answer, question.answers[0] ?? '', verify, signal));
      const score = answer === null ? 0 : isRight ? 1 : GOOD_FORM;
      rewards.push({ score, parts: { raw: isRight ? 1 : 0, format } });
    }
    return rewards;
  };
}

/** The box of a well-formed response; null if there is none, or the form is wrong. */
export function boxedAnswer(text: string, fault: FormatFault | null): string | null {
  const block = fault === null ? firstAnswerBlock(text) : null;
  return block === null ? null : strictBoxContent(lastBoxed(block, 'reward'));
}

/** Whether two mathematical answers are the same: as text, by the verifier, or in normal form. */
export async function isSameAnswer(
  answer: string,
  reference: string,
  verify?: VerifyAnswer,
  signal?: AbortSignal,
): Promise<boolean> {
  if (strip(answer).toLowerCase() === strip(reference).toLowerCase()) return true;
  const [given, wanted] = [finalAnswerForm(answer), finalAnswerForm(reference)];
  const verdict = (await verify?.(given, wanted, signal)) ?? null;
  if (verdict !== null) return verdict;
  const numbers = [numberIn(given), numberIn(wanted)];
  if (numbers[0] !== null && numbers[1] !== null) return numbers[0] === numbers[1];
  return isEquivalent(given, wanted, 'reward');
}

/** The value of an integer, a decimal or a fraction of integers in normal form; null for anything else. */
function numberIn(form: string): number | null {
  const plain = form.replace(/\\$/, '');
  if (/^-?\d+(\.\d+)?$/.test(plain)) return Number(plain);
  const [, sign, above, below] = /^(-?)\\frac\{(-?\d+)\}\{(\d+)\}$/.exec(plain) ?? [];
  if (above === undefined) return null;
  return (Number(above) / Number(below)) * (sign === '-' ? -1 : 1);
}
