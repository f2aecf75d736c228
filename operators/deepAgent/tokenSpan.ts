/**
 * Which tokens an action is in. Stop texts and tags may be split anywhere between tokens, so it is found by
 * bytes.
 */
import type { Tokenizer } from '../../model/index.ts';

/**
 * The first and last of `tokens` that overlap what `open` begins and the last `close` ends; if there is no
 * opening before it, the closing alone. Null if there is no closing.
 */
export function tokenSpan(
  tokens: readonly number[],
  tokenizer: Tokenizer,
  close: string,
  open: string | null,
): { readonly first: number; readonly last: number } | null {
  const pieces = tokens.map((token) =>
    Buffer.from(tokenizer.bytes?.(token) ?? tokenizer.decode([token])),
  );
  const bytes = Buffer.concat(pieces);
  const at = bytes.lastIndexOf(close);
  if (at < 0) return null;
  const before = open === null || at === 0 ? -1 : bytes.lastIndexOf(open, at - 1);
  const start = before < 0 ? at : before;
  const end = at + Buffer.byteLength(close);
  let begins = 0;
  let first = -1;
  let last = -1;
  for (const [i, { length }] of pieces.entries()) {
    const ends = begins + length;
    if (length > 0 && ends > start && begins < end) {
      if (first < 0) first = i;
      last = i;
    }
    begins = ends;
  }
  return { first, last };
}
