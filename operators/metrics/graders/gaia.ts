/**
 * GAIA, as its authors grade it, without a model: numbers by value ($, % and thousands commas do not count),
 * lists (by comma or semicolon) item by item, texts without white space, punctuation and case.
 */
import type { RuleGrader } from './grader.ts';

const NUMBER = /^[+-]?(?:\d[\d_]*\.?[\d_]*|\.\d[\d_]*)(?:e[+-]?\d+)?$/i;
const PUNCTUATION = /[!-/:-@[-`{-~]/g;

/** The value of a text that is a number; null if it is not one. */
function numberIn(text: string): number | null {
  const bare = text.trim();
  return NUMBER.test(bare) ? Number(bare.replaceAll('_', '')) : null;
}

function isSameNumber(prediction: string, wanted: number): boolean {
  return numberIn(prediction.replace(/[$%,]/g, '')) === wanted;
}

function bare(text: string): string {
  return text.replace(/\s/g, '').toLowerCase();
}

function isSameItem(prediction: string, wanted: string): boolean {
  const value = numberIn(wanted);
  return value === null ? bare(prediction) === bare(wanted) : isSameNumber(prediction, value);
}

/** Whether an answer is the expected one. */
export function isGaiaAnswer(prediction: string, wanted: string): boolean {
  const value = numberIn(wanted);
  if (value !== null) return isSameNumber(prediction, value);
  if (!/[,;]/.test(wanted)) {
    const plain = (text: string) => bare(text).replace(PUNCTUATION, '');
    return plain(prediction) === plain(wanted);
  }
  const [given, items] = [prediction.split(/[,;]/), wanted.split(/[,;]/)];
  return given.length === items.length && items.every((item, i) => isSameItem(given[i]!, item));
}

export const gaia: RuleGrader = {
  name: 'gaia',
  way: 'the rule that GAIA’s authors use',
  decide: ({ references, prediction }) => ({
    right: references.some((one) => isGaiaAnswer(prediction, one)),
  }),
};
