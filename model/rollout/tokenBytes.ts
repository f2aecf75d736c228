/**
 * The bytes of every token of a tokenizer, in one block that is sent to a worker cheaply, to find stop
 * texts.
 *
 * By bytes, since a token may end in the middle of a character.
 */
import type { Tokenizer } from '../engine.ts';

/** Token `id` has the bytes [ends[id - 1], ends[id]), from 0 for the first. */
export interface TokenBytes {
  readonly bytes: Uint8Array;
  readonly ends: Int32Array;
}

/** All tokens of a tokenizer. Takes a moment for 150,000 of them. */
export function tokenBytes(tokenizer: Tokenizer): TokenBytes {
  const encoder = new TextEncoder();
  const of = (token: number): Uint8Array =>
    tokenizer.bytes?.(token) ?? encoder.encode(tokenizer.decode([token]));
  const all = Array.from({ length: tokenizer.vocabSize }, (_, token) => of(token));
  const ends = new Int32Array(all.length);
  let end = 0;
  for (const [token, bytes] of all.entries()) {
    end += bytes.length;
    ends[token] = end;
  }
  const bytes = new Uint8Array(end);
  for (const [token, piece] of all.entries()) bytes.set(piece, ends[token]! - piece.length);
  return { bytes, ends };
}

/** The bytes of a token, one character (U+0000 to U+00FF) per byte; '' for an id without text. */
export function byteText({ bytes, ends }: TokenBytes, token: number): string {
  const end = ends[token];
  return end === undefined ? '' : characters(bytes.subarray(ends[token - 1] ?? 0, end));
}

/** A text's UTF-8, one character a byte. */
export function utf8(text: string): string {
  return characters(new TextEncoder().encode(text));
}

function characters(bytes: Uint8Array): string {
  let text = '';
  for (const byte of bytes) text += String.fromCharCode(byte);
  return text;
}
