/**
 * Finds the final answer in what an agent said last. Agents have prompts of their own, so it comes in many
 * forms: the last box, what follows "answer:" or "the answer is", or else the last number for a calculation
 * and the whole text for anything else.
 */
import { boxContent, lastBoxed } from '../../base/text/index.ts';
import type { Question } from '../../topics/index.ts';

const SAID = /(?:\banswer\s*(?:is|:|=)\s*)([^\n]+?)[.!]?\s*$/im;
const NUMBER = /-?\d[\d,]*(?:\.\d+)?(?:\s*\/\s*\d+)?/g;

/** Null if the text has none. */
export function answerIn(text: string, ability: Question['ability']): string | null {
  const box = lastBoxed(text, 'reward');
  if (box !== null) return boxContent(box);
  const said =
    SAID.exec(text)?.[1]
      ?.trim()
      .replace(/^[*_`"']+|[*_`"']+$/g, '') ?? '';
  const plain = said === '' ? text.trim() : said;
  if (ability !== 'math') return plain === '' ? null : plain;
  const number = plain.match(NUMBER)?.at(-1);
  return number === undefined ? null : number.replaceAll(',', '').replaceAll(' ', '');
}
