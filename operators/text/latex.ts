/**
 * A normal form of LaTeX answers, so that `\frac12`, `1/2` and `0.5` are one answer (ET-Agent §1.8).
 *
 * The steps and their order are those of the published normaliser (after Hendrycks et al., 2021). A text
 * that it cannot read raises `LatexError`; `isEquivalent` then compares the texts as they are.
 */
import { closingBrace } from '../../base/text/index.ts';
import { isSpace, strip } from './characters.ts';
import type { Variant } from './variant.ts';

/** The text has no normal form. */
export class LatexError extends Error {
  override readonly name = 'LatexError';
}

export interface NormalFormOptions {
  /** Unwrap `\text{…}` instead of cutting units off (what F1 rewards compare). */
  readonly unwrapText?: boolean;
}

/**
 * Normal form of one answer. Dialects differ in how a unit is cut: `rollout` and `reward` cut at
 * `\text{ ` (with the space), `selection` cuts at any `\text{` and unwraps a box around the whole first.
 */
export function latexNormalForm(
  text: string,
  variant: Variant,
  options: NormalFormOptions = {},
): string {
  if (!TOUCHED.test(text)) return text;
  let form = variant === 'selection' ? insideBox(strip(text)) : text;
  form = withoutSpacing(form);
  form = options.unwrapText ? unwrapTexts(form) : withoutUnit(form, variant);
  form = form.replaceAll('\\%', '').replaceAll(' .', ' 0.').replaceAll('{.', '{0.');
  if (form === '') return form;
  if (form.startsWith('.')) form = `0${form}`;
  form = bracedRoots(rightOfShortEquation(form));
  form = bracedFractions(form.replaceAll(' ', ''));
  return fractionOfIntegers(form === '0.5' ? '\\frac{1}{2}' : form);
}

/**
 * Everything that a step may change. A text without it, such as a number or a word, is already in normal
 * form.
 */
const TOUCHED = /[^\w,+-]|[td]frac/;

/** Whether two answers have the same normal form. Two missing answers are equal, one is not. */
export function isEquivalent(a: string | null, b: string | null, variant: Variant): boolean {
  if (a === null || b === null) return a === b;
  try {
    return latexNormalForm(a, variant) === latexNormalForm(b, variant);
  } catch (error) {
    if (error instanceof LatexError) return a === b;
    throw error;
  }
}

function insideBox(text: string): string {
  return text.startsWith('\\boxed') && text.endsWith('}') ? [...text].slice(7, -1).join('') : text;
}

/** Steps 1-7: line breaks, thin spaces, fraction names, sizes, degrees, dollars. */
function withoutSpacing(text: string): string {
  return text
    .replaceAll('\n', '')
    .replaceAll('\\!', '')
    .replaceAll('\\\\', '\\')
    .replaceAll('tfrac', 'frac')
    .replaceAll('dfrac', 'frac')
    .replaceAll('\\left', '')
    .replaceAll('\\right', '')
    .replaceAll('^{\\circ}', '')
    .replaceAll('^\\circ', '')
    .replaceAll('\\$', '');
}

function withoutUnit(text: string, variant: Variant): string {
  if (variant === 'selection') {
    for (let at = text.indexOf('\\text'); at >= 0; at = text.indexOf('\\text', at + 1)) {
      if (braceOfText(text, at) >= 0) return withoutTrailing(text.slice(0, at), ' \t,;:');
    }
    return text;
  }
  const [before = '', ...units] = text.split('\\text{ ');
  if (units.length > 1) throw new LatexError(`more than one unit in ${JSON.stringify(text)}`);
  return before;
}

/** Scans from the end: a pattern would be quadratic here. */
function withoutTrailing(text: string, characters: string): string {
  let end = text.length;
  while (end > 0 && characters.includes(text.charAt(end - 1))) end--;
  return text.slice(0, end);
}

/**
 * Every `\text{…}` becomes its content; from an unclosed one on the text stays. Runs of blanks become one.
 */
function unwrapTexts(text: string): string {
  let result = '';
  let i = 0;
  while (i < text.length) {
    const brace = braceOfText(text, i);
    if (brace < 0) {
      result += text[i++];
      continue;
    }
    const end = closingBrace(text, brace);
    result += end < 0 ? text.slice(i) : text.slice(brace + 1, end);
    i = end < 0 ? text.length : end + 1;
  }
  return strip(result.replace(/[ \t]+/g, ' '));
}

/** The brace of a `\text {` that begins at `at`, with optional white space before it; -1 if there is none. */
function braceOfText(text: string, at: number): number {
  if (!text.startsWith('\\text', at)) return -1;
  let i = at + '\\text'.length;
  while (i < text.length && isSpace(text.charAt(i))) i++;
  return text[i] === '{' ? i : -1;
}

/** `x=3` means 3: one equals sign with at most two characters before it. */
function rightOfShortEquation(text: string): string {
  const [left = '', right, ...more] = text.split('=');
  return right !== undefined && more.length === 0 && [...left].length <= 2 ? right : text;
}

/** `\sqrt3` becomes `\sqrt{3}`. */
function bracedRoots(text: string): string {
  const [head, ...pieces] = text.split('\\sqrt');
  let result = head!;
  for (const piece of pieces) {
    if (piece === '') throw new LatexError(`a root of nothing in ${JSON.stringify(text)}`);
    if (piece.startsWith('{')) result += `\\sqrt${piece}`;
    else {
      const [first, ...rest] = piece;
      result += `\\sqrt{${first}}${rest.join('')}`;
    }
  }
  return result;
}

/**
 * `\frac12` becomes `\frac{1}{2}`, `\frac1{72}` becomes `\frac{1}{72}`; a cut-off fraction leaves all as it
 * was.
 */
function bracedFractions(text: string): string {
  const [head, ...pieces] = text.split('\\frac');
  let result = head!;
  for (const piece of pieces) {
    if (piece === '') throw new LatexError(`a fraction of nothing in ${JSON.stringify(text)}`);
    const [a, b, ...rest] = piece;
    if (a === '{') result += `\\frac${piece}`;
    else if (b === undefined) return text;
    else if (b === '{') result += `\\frac{${a}}{${rest.join('')}`;
    else result += `\\frac{${a}}{${b}}${rest.join('')}`;
  }
  return result;
}

/** `3/4` becomes `\frac{3}{4}` when both sides are whole numbers in their plain writing. */
function fractionOfIntegers(text: string): string {
  const match = /^(-?[1-9][0-9]*|0)\/(-?[1-9][0-9]*|0)$/.exec(text);
  return match === null ? text : `\\frac{${match[1]}}{${match[2]}}`;
}
