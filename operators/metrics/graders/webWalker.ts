/** WebWalkerQA, as its authors grade it: reasoning first, then `GRADE: CORRECT` or `GRADE: INCORRECT`. */
import { judgeFence } from '../../dialect/fence.ts';
import { type AskingGrader, oneReference, unanimous } from './grader.ts';

const GRADE = /grade[ \t"*]{0,8}:[ \t"*]{0,8}(incorrect|correct)(?![a-z])/gi;

export const webWalker: AskingGrader = {
  name: 'webwalker',
  way: 'in the form that WebWalkerQA’s authors use',
  first: null,
  prompt: ({
    question,
    references,
    prediction,
  }) => `You are a teacher who grades a quiz. You are given a question, the context that it is about, and a student's answer, and grade the answer CORRECT or INCORRECT by the context.

Reason step by step first, and do not begin with the grade. Look only at the facts: differences in punctuation and wording do not matter, and an answer may say more than the context as long as nothing contradicts it.

QUESTION: ${judgeFence(question)}
CONTEXT: ${judgeFence(oneReference(references, 'or'))}
STUDENT ANSWER: ${judgeFence(prediction)}

Reply in this form:
EXPLANATION: your reasoning, step by step
GRADE: CORRECT or INCORRECT`,
  read(reply) {
    const grade = unanimous(reply, GRADE);
    return grade === null ? null : { right: grade === 'correct' };
  },
};
