import type { Tokenizer } from '../../model/index.ts';

/** The token of a tag; null if there is none, or if it has other text too. */
export function tagToken(tokenizer: Tokenizer, tag: string): number | null {
  try {
    const token = tokenizer.id(tag);
    return tokenizer.encode(tag, { tags: false }).includes(token) ? null : token;
  } catch {
    return null;
  }
}
