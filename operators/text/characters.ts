/**
 * Characters as Python sees them, because published numbers were counted that way.
 *
 * A length is in code points. White space has U+001C-001F and U+0085 and lacks U+FEFF (JavaScript's `trim`
 * and `\s` have it the other way round). A word character is a letter, a number or an underscore of any
 * script; combining marks are not.
 */

/** The inside of a character class: what Python strips and splits at. */
const SPACE =
  '\\t-\\r\\u001c-\\u0020\\u0085\\u00a0\\u1680\\u2000-\\u200a\\u2028\\u2029\\u202f\\u205f\\u3000';
const LEADING = new RegExp(`^[${SPACE}]+`, 'u');
const BLANK = new RegExp(`^[${SPACE}]*$`, 'u');
const ONE_SPACE = new RegExp(`[${SPACE}]`, 'u');
const SPACES = new RegExp(`[${SPACE}]+`, 'gu');

/** Whether one character (or any character of a string) is white space. */
export function isSpace(character: string): boolean {
  return ONE_SPACE.test(character);
}

/** Whether the text is empty or only white space. */
export function isBlank(text: string): boolean {
  return BLANK.test(text);
}

/** The text without white space at its start. */
export function stripStart(text: string): string {
  return text.replace(LEADING, '');
}

/** The text without white space at its end. Scans from the end: a pattern would be quadratic here. */
export function stripEnd(text: string): string {
  let end = text.length;
  while (end > 0 && isSpace(text.charAt(end - 1))) end--;
  return text.slice(0, end);
}

/** The text without white space at both ends. */
export function strip(text: string): string {
  return stripEnd(stripStart(text));
}

/** The words between white space; none for a blank text. */
export function words(text: string): string[] {
  return text.split(SPACES).filter((word) => word !== '');
}

/** Number of code points. */
export function codePoints(text: string): number {
  let count = 0;
  for (const _ of text) count++;
  return count;
}

/** The first `max` code points. */
export function firstCodePoints(text: string, max: number): string {
  if (text.length <= max) return text;
  let end = 0;
  for (let count = 0; count < max && end < text.length; count++) {
    end += text.codePointAt(end)! > 0xffff ? 2 : 1;
  }
  return text.slice(0, end);
}

/** The first `max` code points, followed by `...` if there are more. */
export function cutCodePoints(text: string, max: number): string {
  const first = firstCodePoints(text, max);
  return first === text ? text : `${first}...`;
}

/** Replaces every whole word `a`, `an`, `the` (lower case) by a space. */
export function withoutArticles(text: string): string {
  return text.replace(ARTICLE, ' ');
}
const ARTICLE = /(?<![\p{L}\p{N}_])(?:a|an|the)(?![\p{L}\p{N}_])/gu;

/** Deletes the 32 ASCII punctuation characters. */
export function withoutPunctuation(text: string): string {
  return text.replace(/[!-/:-@[-`{-~]/g, '');
}
