/**
 * Hints that make a policy think again where it went wrong (ET-Agent §4.7): first-person, each sending it to
 * the tool that suits the question.
 */
import type { Ability } from '../../topics/index.ts';

/** Sentences by kind of question; one of them is drawn. */
export type Hints = Readonly<Record<Ability, readonly string[]>>;

/** The hints of the package, which send a chain back to its tools. */
export const defaultHints: Hints = {
  math: [
    ' Wait, I should check this with Python before I go on.',
    ' Hold on, one of these steps may be wrong; let me compute it with Python.',
    ' Let me stop here and go over the calculation again in Python.',
    ' I am not sure about this result, so I will verify it by running some code.',
    ' Something may be off; a short Python program can tell me.',
    ' Before I answer, let me think again and confirm the numbers with Python.',
  ],
  qa: [
    ' Wait, I should look this up again before I go on.',
    ' Hold on, I may have the wrong facts; let me search once more.',
    ' Let me stop here and search for what I am missing.',
    ' I am not sure about this, so I will search with another query.',
    ' Something may be off; a new search can tell me.',
    ' Before I answer, let me think again and check it with a search.',
  ],
};
