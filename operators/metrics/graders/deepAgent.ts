/**
 * The judge of DeepAgent's evaluation (§4.3): LaTeX equality, otherwise a model whose whole reply is the word
 * Correct.
 */
import { judgeFence } from '../../dialect/fence.ts';
import type { AskingGrader } from './grader.ts';

export const deepAgent: AskingGrader = {
  name: 'deep-agent',
  way: 'as DeepAgent’s evaluation asks it',
  first: 'equality',
  prompt: ({ question, references, prediction }) => `Decide whether an answer is right.

Question:
${judgeFence(question)}

Right answer${references.length > 1 ? 's (any one of them)' : ''}:
${references.map((one) => judgeFence(one)).join('\n')}

Answer to check:
${judgeFence(prediction)}

It is right when it says the same as the right answer; wording and notation do not matter.

Reply with one word, "Correct" or "Incorrect".`,
  read(reply) {
    const word = reply.trim().toLowerCase();
    return word === 'correct' || word === 'incorrect' ? { right: word === 'correct' } : null;
  },
};
