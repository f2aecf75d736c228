/**
 * Characters that could make text look like other text, or that a terminal interprets: control characters,
 * Unicode line separators, and those that change the direction of writing. Much of what is shown was written
 * by a model, so it counts as hostile.
 */
const hidden = /[\p{Cc}\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/gu;

/** The text with each of them replaced. */
export function replaceHidden(text: string, replace: (character: string) => string): string {
  return text.replace(hidden, replace);
}

/** The text with each of them as an escape, `\u001b`. */
export function visible(text: string): string {
  return replaceHidden(text, escaped);
}

/** The same for text of several lines: ends of lines and tabs stay. */
export function visibleLines(text: string): string {
  return replaceHidden(text, (one) => (one === '\n' || one === '\t' ? one : escaped(one)));
}

/** `\u001b` */
export function escaped(character: string): string {
  return `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`;
}
