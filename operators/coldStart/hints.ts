/**
 * The hints of Tool-Star's cold start (§4.1) and where to put them: a chain in plain language is cut there
 * and continues with tools. Pure: text in, text out; null if a chain has no such place.
 */
import type { Hints } from '../evolve/hints.ts';
import { reopenedWithHint } from '../evolve/replies.ts';
import { stripEnd } from '../text/characters.ts';

/** The sentences that make a chain without tools continue with them (Tool-Star §4.1, hint-based sampling). */
export interface ColdStartHints {
  /** Logical verification: after the sentence that shows doubt. */
  readonly verify: Hints;
  /** Answer reflection: right after the answer. */
  readonly reflect: Hints;
  /** What marks a sentence as unsure, in any case. */
  readonly uncertain: readonly string[];
}

/** The hints of the package. */
export const coldStartHints: ColdStartHints = {
  verify: {
    math: [
      ' I should not rely on this step; a few lines of Python will tell whether it holds.',
      ' This is where a mistake would slip in, so I compute it with Python.',
    ],
    qa: [
      ' I am guessing here; a search will tell whether this is so.',
      ' This needs a source, so I look it up.',
    ],
  },
  reflect: {
    math: [
      ' Before I give this as my answer, I verify it with Python.',
      ' Let me check the result once more by running code.',
    ],
    qa: [
      ' Before I give this as my answer, I search for something that confirms it.',
      ' Let me check this against what a search finds.',
    ],
  },
  uncertain: [
    ...['not sure', 'not certain', 'unsure', 'uncertain', 'maybe', 'perhaps', 'possibly'],
    ...['probably', 'might be', 'could be', 'i think', 'i guess', 'i believe', 'seems'],
    ...['if i remember', 'wait', 'hmm', 'alternatively', 'let me check', 'double-check'],
  ],
};

/** All hints of both sorts, by the kind of question. */
export function allHints({ verify, reflect }: ColdStartHints): Hints {
  return {
    math: [...verify.math, ...reflect.math],
    qa: [...verify.qa, ...reflect.qa],
  };
}

/** The chain up to the end of its first unsure sentence, and the hint; its thinking stays open. */
export function verifyFrom(
  chain: string,
  hint: string,
  uncertain: readonly string[],
): string | null {
  const thought = openThought(chain);
  if (thought === null) return null;
  const lower = thought.toLowerCase();
  const found = uncertain
    .map((expression) => ({ expression, at: lower.indexOf(expression.toLowerCase()) }))
    .filter(({ at }) => at >= 0)
    .sort((a, b) => a.at - b.at || b.expression.length - a.expression.length)[0];
  if (found === undefined) return null;
  const behind = found.at + found.expression.length;
  const end = thought.slice(behind).search(/(?<=[.!?])(?=\s|$)|\n/);
  const cut = end < 0 ? thought.length : behind + end;
  return stripEnd(thought.slice(0, cut)) + hint;
}

/** The chain with its answer taken back, and the hint. */
export function reflectFrom(chain: string, hint: string, tools: readonly string[]): string | null {
  if (!stripEnd(chain).endsWith('</answer>')) return null;
  return reopenedWithHint(chain, hint, 'repaired', tools);
}

/** The first thinking block, from the beginning of the chain; null if there is none. */
function openThought(chain: string): string | null {
  if (!chain.includes('<think>')) return null;
  const close = chain.indexOf('</think>');
  return close < 0 ? chain : chain.slice(0, close);
}
