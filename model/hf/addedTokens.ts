/**
 * Finds the added tokens of a tokenizer in a text, as the `tokenizers` package does: leftmost and longest
 * first; those that are not normalised before the others; with the white space that they take along.
 */
import { literal } from '../../base/text/index.ts';

/** An entry of `added_tokens` in `tokenizer.json`. */
export interface AddedToken {
  readonly id: number;
  readonly content: string;
  /** Takes the white space before it along. */
  readonly lstrip: boolean;
  /** Takes the white space after it along. */
  readonly rstrip: boolean;
  /** Only matches between characters that are not letters; the finder does not support this. */
  readonly single_word: boolean;
  /** Matched after the text is normalised. */
  readonly normalized: boolean;
}

/** A stretch of a text, and its token or null. */
export interface Piece {
  readonly text: string;
  readonly id: number | null;
}

/** White space according to Rust's regular expressions. */
const SPACE = '\\t-\\r \\x85\\xa0\\u1680\\u2000-\\u200a\\u2028\\u2029\\u202f\\u205f\\u3000';
const SPACE_BEFORE = new RegExp(`[${SPACE}]+$`, 'u');
const SPACE_AFTER = new RegExp(`^[${SPACE}]+`, 'u');

/** Cuts a text into added tokens and the text between them. */
export function addedTokenFinder(
  tokens: readonly AddedToken[],
): (text: string) => readonly Piece[] {
  const raw = finder(tokens.filter(({ normalized }) => !normalized));
  const later = finder(tokens.filter(({ normalized }) => normalized));
  return (text) => raw(text).flatMap((piece) => (piece.id === null ? later(piece.text) : [piece]));
}

function finder(tokens: readonly AddedToken[]): (text: string) => readonly Piece[] {
  if (tokens.length === 0) return (text) => (text === '' ? [] : [{ text, id: null }]);
  const byContent = new Map(tokens.map((token) => [token.content, token]));
  const pattern = [...byContent.keys()]
    .sort((a, b) => b.length - a.length)
    .map(literal)
    .join('|');
  const search = new RegExp(pattern, 'gu');
  return (text) => {
    const pieces: Piece[] = [];
    let done = 0;
    for (const { 0: content, index } of text.matchAll(search)) {
      const token = byContent.get(content);
      if (token === undefined) continue;
      const after = index + content.length;
      const left = token.lstrip ? (SPACE_BEFORE.exec(text.slice(0, index))?.[0].length ?? 0) : 0;
      const right = token.rstrip ? (SPACE_AFTER.exec(text.slice(after))?.[0].length ?? 0) : 0;
      const start = Math.max(index - left, done);
      if (done < start) pieces.push({ text: text.slice(done, start), id: null });
      pieces.push({ text: text.slice(start, after + right), id: token.id });
      done = after + right;
    }
    if (done < text.length) pieces.push({ text: text.slice(done), id: null });
    return pieces;
  };
}
