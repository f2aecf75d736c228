/**
 * A small tokenizer: whole words, single digits, tags and punctuation as one token each, bytes for the rest.
 *
 * For policies that are trained from nothing (the quickstart's). Any text round-trips: `decode(encode(t)) ===
 * t`. A space between two words, or a word and a digit, is implied and costs nothing; every other space is a
 * token, and a joiner marks where the implied space is absent. Words outside the vocabulary are spelled in
 * UTF-8 bytes. With `{ tags: false }` no tag token is made, so that text from outside (a question, a tool's
 * result) cannot pass for the policy's own text.
 */

import { readFile } from 'node:fs/promises';
import { literal } from '../base/text/index.ts';
import type { Tokenizer } from './engine.ts';

/** The vocabulary as in `tokenizer.json`. Ids: end, joiner, 256 bytes, tags, symbols, words. */
export interface WordVocabulary {
  readonly kind: 'words';
  /** Stand for themselves and are never split; longest match first. The first one ends a text. */
  readonly tags: readonly string[];
  /** Punctuation and spaces, one or more characters; longest match first. */
  readonly symbols: readonly string[];
  /** Letters only. */
  readonly words: readonly string[];
}

const JOINER = 0;
const FIRST_BYTE = 1;
const FIRST_TAG = FIRST_BYTE + 256;

type Shape = 'word' | 'digit' | 'other';

/** Whether decoding puts a space between two neighbours. */
function spaced(left: Shape, right: Shape): boolean {
  return left !== 'other' && right !== 'other' && !(left === 'digit' && right === 'digit');
}

function alternatives(texts: readonly string[]): string {
  return [...texts]
    .sort((a, b) => b.length - a.length)
    .map(literal)
    .join('|');
}

/** A tokenizer over `vocabulary`. Throws when two entries are the same text. */
export function wordTokenizer(vocabulary: WordVocabulary): Tokenizer {
  const texts = [...vocabulary.tags, ...vocabulary.symbols, ...vocabulary.words];
  const ids = new Map<string, number>();
  for (const [index, text] of texts.entries()) {
    if (ids.has(text)) throw new Error(`vocabulary lists ${JSON.stringify(text)} twice`);
    ids.set(text, FIRST_TAG + index);
  }
  const encoder = new TextEncoder();
  const decoder = new TextDecoder('utf-8', { ignoreBOM: true });
  const written = texts.map((text) => encoder.encode(text));
  const digits = new Set(vocabulary.words.filter((word) => /^\d$/.test(word)));
  const shapes: Shape[] = texts.map((text, index) => {
    if (index < vocabulary.tags.length + vocabulary.symbols.length) return 'other';
    return digits.has(text) ? 'digit' : 'word';
  });
  const shapeOf = (token: number): Shape => shapes[token - FIRST_TAG] ?? 'other';
  const symbols = alternatives(vocabulary.symbols);
  const rest = `${symbols === '' ? '' : `${symbols}|`}\\p{L}+|\\d|[\\s\\S]`;
  const plain = new RegExp(rest, 'gu');
  const tagged = new RegExp(`${alternatives(vocabulary.tags)}|${rest}`, 'gu');
  const tags = new Set(vocabulary.tags);

  const spell = (piece: string, into: number[]): void => {
    for (const byte of encoder.encode(piece)) into.push(FIRST_BYTE + byte);
  };

  return {
    vocabSize: FIRST_TAG + texts.length,
    endToken: FIRST_TAG,
    markers: vocabulary.tags,
    // An implied space belongs to the word or digit after it.
    bytes(token, previous = JOINER) {
      if (token === JOINER) return new Uint8Array(0);
      if (token < FIRST_TAG) return Uint8Array.of(token - FIRST_BYTE);
      const text = written[token - FIRST_TAG];
      if (text === undefined) return new Uint8Array(0);
      return spaced(shapeOf(previous), shapeOf(token)) ? Uint8Array.of(32, ...text) : text.slice();
    },
    id(token) {
      const id = ids.get(token);
      if (id === undefined) throw new Error(`the tokenizer has no token ${JSON.stringify(token)}`);
      return id;
    },
    encode(text, options) {
      const out: number[] = [];
      let left: Shape = 'other';
      let space = false;
      const pieces = text.match(options?.tags === false ? plain : tagged) ?? [];
      const put = (id: number | undefined, piece: string): void => {
        const shape = id === undefined ? 'other' : shapes[id - FIRST_TAG]!;
        const implied = spaced(left, shape);
        if (space && !implied) out.push(...(ids.has(' ') ? [ids.get(' ')!] : [FIRST_BYTE + 32]));
        if (!space && implied) out.push(JOINER);
        space = false;
        if (id === undefined) spell(piece, out);
        else out.push(id);
        left = shape;
      };
      for (const piece of pieces) {
        if (piece === ' ' && !space) {
          space = true;
          continue;
        }
        const known = ids.get(piece);
        put(options?.tags === false && tags.has(piece) ? undefined : known, piece);
      }
      if (space) out.push(ids.get(' ') ?? FIRST_BYTE + 32);
      return Int32Array.from(out);
    },
    decode(tokens) {
      const bytes: number[] = [];
      let left: Shape = 'other';
      let joined = false;
      for (let i = 0; i < tokens.length; i++) {
        const id = tokens[i]!;
        if (id === JOINER) {
          joined = true;
          continue;
        }
        if (id < FIRST_TAG) {
          bytes.push(id - FIRST_BYTE);
          left = 'other';
        } else {
          const text = written[id - FIRST_TAG];
          if (text === undefined) throw new RangeError(`token ${id} is outside the vocabulary`);
          const shape = shapes[id - FIRST_TAG]!;
          if (!joined && spaced(left, shape)) bytes.push(32);
          bytes.push(...text);
          left = shape;
        }
        joined = false;
      }
      return decoder.decode(Uint8Array.from(bytes));
    },
  };
}

/** Reads a `tokenizer.json` that holds a word vocabulary. */
export async function loadWordTokenizer(path: string): Promise<Tokenizer> {
  const json = JSON.parse(await readFile(path, 'utf8')) as WordVocabulary;
  if (json.kind !== 'words') throw new Error(`${path}: not a word vocabulary (field kind)`);
  return wordTokenizer(json);
}
