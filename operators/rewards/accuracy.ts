/**
 * Accuracy: whether the final answer of a response is right, nothing else (ET-Agent §8.5, "raw").
 *
 * Mathematics compares normal forms of the last box in the whole text, and requires an answer block
 * somewhere. Knowledge compares the last box in the answer block with every reference. Rewards give it what
 * the policy wrote itself (`ownTexts`); the references give it all, results too, and then a tool that says a
 * box answers for the policy.
 */

import { boxContent, lastBoxed } from '../../base/text/index.ts';
import type { Question } from '../../topics/index.ts';
import { firstAnswerBlock } from '../dialect/answer.ts';
import { isEquivalent } from '../text/latex.ts';
import { plainWords, rewardF1, wordF1 } from '../text/overlap.ts';
import { type PureReward, perRollout } from './reward.ts';

/** `match` = 0 or 1, as released; `f1` = word overlap for knowledge, as the paper has it. */
export type KnowledgeScore = 'match' | 'f1';

/** How right a response is, and the answer read from it. */
export interface Correctness {
  /** 0 to 1. */
  readonly raw: number;
  /** Agreement with the best reference as text, also for mathematics; 0 to 1. */
  readonly f1: number;
  /** The answer that was read; empty if there was none. */
  readonly answer: string;
}

/** How right the answer in a text is. */
export function correctness(
  question: Pick<Question, 'ability' | 'answers'>,
  text: string,
  knowledge: KnowledgeScore = 'match',
): Correctness {
  const math = question.ability === 'math';
  const block = firstAnswerBlock(text);
  const box = block === null ? null : lastBoxed(math ? text : block, 'reward');
  if (box === null) return { raw: 0, f1: 0, answer: '' };
  const answer = boxContent(box);
  const f1 =
    knowledge === 'match' ? rewardF1(answer, question.answers) : bestF1(answer, question.answers);
  if (!math) return { raw: f1, f1, answer };
  return { raw: isEquivalent(answer, question.answers[0] ?? null, 'reward') ? 1 : 0, f1, answer };
}

function bestF1(answer: string, references: readonly string[]): number {
  const words = plainWords(answer);
  return Math.max(0, ...references.map((reference) => wordF1(words, plainWords(reference))));
}

/** The reward that is accuracy alone; part `raw`. */
export function accuracy(knowledge: KnowledgeScore = 'match'): PureReward {
  return perRollout('raw', ({ question, own }) => correctness(question, own, knowledge).raw);
}
