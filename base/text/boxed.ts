/**
 * `\boxed{…}`: where a trajectory puts its final answer.
 *
 * One brace scan, three variants (ET-Agent §1.6): `rollout` gives '' if there is no box and the tail of
 * an unclosed one; `selection` gives null and the tail; `reward` gives null for both, and reads the spaced
 * form `\boxed 5` up to the next dollar sign wherever it occurs.
 */

/** Whose reading of a box: those of `Variant` in operators/text/variant.ts. */
export type BoxVariant = 'rollout' | 'selection' | 'reward';

/** The last box of a text, command and braces included (`\boxed{7}`); `\fbox` counts if no `\boxed` is. */
export function lastBoxed(text: string, variant: BoxVariant): string | null {
  if (variant === 'reward' && text.includes('\\boxed ')) {
    const tail = text.slice(text.lastIndexOf('\\boxed ') + '\\boxed '.length);
    return `\\boxed ${tail.split('$', 1)[0]}`;
  }
  let start = text.lastIndexOf('\\boxed');
  if (start < 0) start = text.lastIndexOf('\\fbox');
  if (start < 0) return variant === 'rollout' ? '' : null;
  const end = closingBrace(text, start);
  if (end < 0) return variant === 'reward' ? null : text.slice(start);
  return text.slice(start, end + 1);
}

/** Where the brace closes that brings the count back to zero, scanning from `start`; -1 when none does. */
export function closingBrace(text: string, start: number): number {
  let open = 0;
  for (let i = start; i < text.length; i++) {
    if (text[i] === '{') open++;
    else if (text[i] === '}' && --open === 0) return i;
  }
  return -1;
}

/** The content of `prefix…}`; the text itself if it has another form. */
export function unwrap(text: string, prefix: string): string {
  return text.startsWith(prefix) && text.endsWith('}') ? text.slice(prefix.length, -1) : text;
}

/**
 * The content of a box as the reward reads it: `\boxed` and one more character are cut in front, one
 * after it, whenever the text begins with `\boxed` and ends with a brace.
 */
export function boxContent(box: string): string {
  return box.startsWith('\\boxed') && box.endsWith('}') ? box.slice('\\boxed{'.length, -1) : box;
}
