/**
 * Encodes text piece by piece, for tokenizers that cut a text into pieces and encode each by itself, as
 * byte-level ones do: what a piece has become is kept, since words come again and again. The tokens are those
 * of encoding the whole text.
 */

/** What the library's pipeline has, in as far as it is used here. */
export interface Pieces {
  readonly normalizer: ((text: string) => string) | null;
  readonly pre_tokenizer: ((text: string) => readonly string[]) | null;
}

/** Most pieces that are kept; when there are more, all are forgotten. */
const KEPT_MAX = 32_768;
/** Longer ones, in UTF-16 units, hardly come again. */
const LENGTH_MAX = 32;

/** `cut` = normalises and cuts alone; `encode` = of a piece. */
export function pieceEncoder(
  { normalizer, pre_tokenizer: cut }: Pieces,
  encode: (piece: string) => readonly number[],
): (text: string) => readonly number[] {
  const kept = new Map<string, readonly number[]>();
  const encoded = (piece: string): readonly number[] => {
    const known = kept.get(piece);
    if (known !== undefined) return known;
    const tokens = encode(piece);
    if (piece.length > LENGTH_MAX) return tokens;
    if (kept.size === KEPT_MAX) kept.clear();
    // A piece is a part of its text, which would be kept with it.
    kept.set(Buffer.from(piece, 'utf16le').toString('utf16le'), tokens);
    return tokens;
  };
  return (text) => {
    const plain = normalizer === null ? text : normalizer(text);
    if (plain === '') return [];
    const all: number[] = [];
    for (const piece of cut === null ? [plain] : cut(plain)) {
      for (const token of encoded(piece)) all.push(token);
    }
    return all;
  };
}
