/**
 * Humanity's Last Exam, as its authors grade it: the judge extracts the final answer, reasons, says
 * `correct: yes|no` and how sure the response is. Parts: `confidence`, 0 to 1.
 */
import { judgeFence } from '../../dialect/fence.ts';
import { type AskingGrader, oneReference, unanimous } from './grader.ts';

const CORRECT = /(?:^|[\n{,])[ \t"*]{0,8}correct[ \t"*]{0,8}:[ \t"*]{0,8}(yes|no)(?![a-z])/gi;
const CONFIDENCE = /confidence[ \t"*]{0,8}:[ \t"*]{0,8}(\d{1,3})(?!\d)/gi;

export const hle: AskingGrader = {
  name: 'hle',
  way: 'in the form that HLE’s authors use',
  first: null,
  prompt: ({
    question,
    references,
    response,
  }) => `Say whether the [response] below answers the [question] as the [correct_answer] does, which is precise and has one meaning.

[question]: ${judgeFence(question)}

[response]: ${judgeFence(response)}

[correct_answer]: ${judgeFence(oneReference(references, 'or'))}

Give your judgement in these four fields, each on a line of its own:

extracted_final_answer: the final, exact answer that the [response] gives; None if it gives none.

reasoning: why this answer agrees with the [correct_answer] or not. Look only at differences that matter between the two. Do not solve the problem yourself, do not comment on its background, and do not argue for another answer.

correct: yes if extracted_final_answer agrees with the [correct_answer], or for a number is within a small margin of it; no otherwise, also if anything is inconsistent, ambiguous or not equivalent.

confidence: how sure the [response] says it is, from 0% to 100%; 100 if it does not say.`,
  read(reply) {
    const correct = unanimous(reply, CORRECT);
    if (correct === null) return null;
    const said = unanimous(reply, CONFIDENCE);
    const confidence = said === null ? {} : { confidence: Math.min(100, Number(said)) / 100 };
    return { right: correct === 'yes', parts: confidence };
  },
};
