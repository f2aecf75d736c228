/**
 * The text that each token adds, so that a token's numbers can be shown under its text. A token may be part
 * of a character, whose text then comes with the last part. Together the pieces are the whole text.
 */
import type { Tokenizer } from '../../../model/index.ts';

/** Preceding tokens that may change a token's text (by a space implied between two words). */
const CONTEXT = 4;
const REPLACEMENT = '\ufffd';

export interface Pieces {
  readonly text: string;
  /** UTF-16 units by token. */
  readonly lengths: Uint16Array;
}

/**
 * From the bytes of each token if they add up to the text; else by decoding each token with those before it.
 */
export function piecesOf(tokens: ArrayLike<number>, tokenizer: Tokenizer): Pieces {
  const whole = tokenizer.decode(tokens);
  const bytes = byBytes(tokens, tokenizer);
  return bytes !== null && bytes.text === whole ? bytes : byDecoding(tokens, tokenizer);
}

function byBytes(tokens: ArrayLike<number>, tokenizer: Tokenizer): Pieces | null {
  if (tokenizer.bytes === undefined) return null;
  const decoder = new TextDecoder('utf-8', { ignoreBOM: true });
  const lengths = new Uint16Array(tokens.length);
  let text = '';
  for (let i = 0; i < tokens.length; i++) {
    const last = i === tokens.length - 1;
    const piece = decoder.decode(tokenizer.bytes(tokens[i]!, tokens[i - 1]), { stream: !last });
    lengths[i] = Math.min(piece.length, 0xffff);
    text += piece;
  }
  return { text, lengths };
}

function byDecoding(tokens: ArrayLike<number>, tokenizer: Tokenizer): Pieces {
  const all = Array.from(tokens);
  const lengths = new Uint16Array(all.length);
  let text = '';
  let done = 0;
  for (let i = 0; i < all.length; i++) {
    const from = Math.max(0, done - CONTEXT);
    const before = tokenizer.decode(all.slice(from, done));
    const now = tokenizer.decode(all.slice(from, i + 1));
    const isWhole = !now.endsWith(REPLACEMENT) || i === all.length - 1 || i - done >= CONTEXT;
    if (!isWhole) continue;
    const piece = now.startsWith(before) ? now.slice(before.length) : '';
    lengths[i] = Math.min(piece.length, 0xffff);
    text += piece;
    done = i + 1;
  }
  return { text, lengths };
}

/** Where each token begins in the text, and finally where the last one ends. */
export function startsOf(lengths: Uint16Array): Uint32Array {
  const starts = new Uint32Array(lengths.length + 1);
  for (const [i, length] of lengths.entries()) starts[i + 1] = starts[i]! + length;
  return starts;
}
