/**
 * Cuts a text at a number of code points, as Python's `text[:n]` counts them.
 */

/** The first `max` code points of `text`, and `...` after them when there are more. */
export function cutCodePoints(text: string, max: number): string {
  if (text.length <= max) return text;
  let end = 0;
  for (let count = 0; count < max && end < text.length; count++) {
    end += text.codePointAt(end)! > 0xffff ? 2 : 1;
  }
  return end < text.length ? `${text.slice(0, end)}...` : text;
}
