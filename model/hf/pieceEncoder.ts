/**
 * Encodes text piece by piece, for tokenizers that cut a text into pieces and encode each by itself, as
 * byte-level ones do: what a piece has become is kept, since words come again and again, and what a text has,
 * since conversations begin alike. The tokens are those of encoding the whole text.
 */
import { LruCache } from '../../base/index.ts';

/** How a text becomes pieces. */
export interface Pieces {
  readonly normalizer: ((text: string) => string) | null;
  /**
   * Global expressions, one after the other: each match is a piece, and so is what lies between two of them.
   */
  readonly cuts: readonly RegExp[];
}

/** Limit of pieces kept; beyond it, all are forgotten. */
const KEPT_MAX = 32_768;
/** Longer ones, in UTF-16 units, hardly ever repeat. */
const LENGTH_MAX = 32;

/** How many texts to keep, and of which length in UTF-16 units: a system prompt with its tools. */
const TEXTS_MAX = 64;
const TEXT_MIN = 1_000;
const TEXT_MAX = 32_768;

/** `encode` encodes one piece. */
export function pieceEncoder(
  { normalizer, cuts }: Pieces,
  encode: (piece: string) => readonly number[],
): (text: string) => readonly number[] {
  const kept = new Map<string, readonly number[]>();
  const encoded = (piece: string): readonly number[] => {
    const known = kept.get(piece);
    if (known !== undefined) return known;
    const tokens = encode(piece);
    if (piece.length > LENGTH_MAX) return tokens;
    if (kept.size === KEPT_MAX) kept.clear();
    // A piece is a slice of its text, which would be kept with it.
    kept.set(Buffer.from(piece, 'utf16le').toString('utf16le'), tokens);
    return tokens;
  };
  const whole = (text: string): readonly number[] => {
    const plain = normalizer === null ? text : normalizer(text);
    if (plain === '') return [];
    const all: number[] = [];
    const pieces = cuts.reduce<readonly string[]>(
      (parts, at) => parts.flatMap((part) => cut(part, at)),
      [plain],
    );
    for (const piece of pieces) for (const token of encoded(piece)) all.push(token);
    return all;
  };
  const texts = new LruCache<readonly number[]>(TEXTS_MAX);
  return (text) => {
    if (text.length < TEXT_MIN || text.length > TEXT_MAX) return whole(text);
    const known = texts.get(text) ?? whole(text);
    texts.set(text, known);
    return known;
  };
}

function cut(text: string, at: RegExp): readonly string[] {
  const found: readonly string[] = text.match(at) ?? [];
  // Most expressions leave nothing between two matches, and `match` is twice as fast as going through them.
  if (found.reduce((sum, { length }) => sum + length, 0) === text.length) return found;
  const pieces: string[] = [];
  let done = 0;
  for (const { 0: match, index } of text.matchAll(at)) {
    if (done < index) pieces.push(text.slice(done, index));
    pieces.push(match);
    done = index + match.length;
  }
  if (done < text.length) pieces.push(text.slice(done));
  return pieces;
}
