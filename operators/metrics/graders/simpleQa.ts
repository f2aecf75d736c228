/**
 * SimpleQA, as its authors grade it: A = correct, B = incorrect, C = not attempted. Parts: `notAttempted`.
 */
import { judgeFence } from '../../dialect/fence.ts';
import { type AskingGrader, oneReference, unanimous } from './grader.ts';

/** A letter that stands alone. */
const LETTER = /(?<![\p{L}\p{N}_])([ABC])(?![\p{L}\p{N}_])/gu;
const NAME = /(?<![a-z_])(incorrect|correct|not_attempted)(?![a-z_])/gi;
const letters: Readonly<Record<string, string>> = {
  correct: 'a',
  incorrect: 'b',
  not_attempted: 'c',
};

export const simpleQa: AskingGrader = {
  name: 'simpleqa',
  way: 'in the form that SimpleQA’s authors use',
  first: null,
  prompt: ({
    question,
    references,
    prediction,
  }) => `Grade a predicted answer to a question against the gold target, as one of CORRECT, INCORRECT and NOT_ATTEMPTED.

CORRECT: it has all that matters of the gold target and says nothing that contradicts it. Case, punctuation, order, small misspellings of names and hedging do not matter if the whole target is there. A number is right if it is right to the last digit that the target has.
INCORRECT: something in it contradicts the gold target, even if it is hedged.
NOT_ATTEMPTED: what matters of the gold target is not all there, and nothing contradicts it.

What the question lets one infer (a surname alone for the person it asks about, a city without its state) need not be said.

Question: ${judgeFence(question)}
Gold target: ${judgeFence(oneReference(references, 'or'))}
Predicted answer: ${judgeFence(prediction)}

Grade it as one of:
A: CORRECT
B: INCORRECT
C: NOT_ATTEMPTED

Reply with the letter "A", "B" or "C" alone, and no text around it.`,
  read(reply) {
    const letter = unanimous(reply, LETTER) ?? letters[unanimous(reply, NAME) ?? ''];
    if (letter === undefined) return null;
    return { right: letter === 'a', parts: { notAttempted: letter === 'c' ? 1 : 0 } };
  },
};
