/**
 * Any reward with a symbolic verifier: a mathematical answer that the verifier finds equal to the reference
 * is replaced by the reference, so the reward treats it like any right answer. Answers to knowledge
 * questions, and answers that are right by their normal form, stay as they are.
 */
import { boxContent, lastBoxed } from '../../base/text/index.ts';
import { finalAnswerForm } from '../text/finalAnswer.ts';
import { correctness } from './accuracy.ts';
import { ownTexts, type RewardFunction } from './reward.ts';
import type { VerifyAnswer } from './toolStar.ts';

/** The reward over answers that the verifier has checked. */
export function verifiedMath(reward: RewardFunction, verify: VerifyAnswer): RewardFunction {
  return async (group, signal) => {
    const { question } = group;
    const reference = question.answers[0];
    if (question.ability !== 'math' || reference === undefined) return reward(group, signal);
    const own: string[] = [];
    for (const text of ownTexts(group)) {
      const { raw, answer } = correctness(question, text);
      const isOpen = raw === 0 && answer !== '';
      const isSame =
        isOpen &&
        (await verify(finalAnswerForm(answer), finalAnswerForm(reference), signal)) === true;
      own.push(isSame ? withAnswer(text, reference) : text);
    }
    return reward({ ...group, own }, signal);
  };
}

/** The text with a different answer in its last box. */
function withAnswer(text: string, answer: string): string {
  const box = lastBoxed(text, 'reward');
  if (box === null) return text;
  const at = text.lastIndexOf(box);
  const after = text.slice(at + box.length);
  const isSpaced = boxContent(box) === box;
  return `${text.slice(0, at)}${isSpaced ? `\\boxed ${answer}` : `\\boxed{${answer}}`}${after}`;
}
