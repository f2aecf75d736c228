/** The vocabulary of a GGUF file: its tokens by id, what kind each is, and how two of them are merged. */
import { MillraceError, outsideText } from '../../base/index.ts';
import type { Metadata } from './ggufFile.ts';

/** The kinds of tokens, by their number in a file. */
export const UNKNOWN = 2;
export const CONTROL = 3;
export const USER_DEFINED = 4;
const UNUSED = 5;

export interface Vocabulary {
  /** By id. */
  readonly tokens: readonly string[];
  readonly kinds: readonly number[];
}

export function refuse(path: string, what: string): MillraceError<'TOKENIZER'> {
  const way = 'name a folder with its tokenizer (--tokenizer FOLDER)';
  return new MillraceError('TOKENIZER', `${path}: ${what}: ${way}`, { context: { file: path } });
}

export function vocabularyOf(path: string, metadata: Metadata, vocabSize: number): Vocabulary {
  const tokens = metadata.get('tokenizer.ggml.tokens');
  const kinds = metadata.get('tokenizer.ggml.token_type') ?? [];
  if (!isTexts(tokens)) throw refuse(path, 'it has no vocabulary (tokenizer.ggml.tokens)');
  if (!isNumbers(kinds) || (kinds.length > 0 && kinds.length !== tokens.length))
    throw refuse(path, 'tokenizer.ggml.token_type is not a number for each token');
  if (tokens.length > vocabSize)
    throw refuse(path, `it has ${tokens.length} tokens, but embeddings of ${vocabSize}`);
  if (new Set(tokens).size < tokens.length) throw refuse(path, 'it has a duplicate token');
  return { tokens, kinds };
}

/** Without tokens that only fill up the embeddings. */
export function vocabOf(
  tokens: readonly string[],
  kinds: readonly number[],
  spelt: (token: string, id: number) => string,
): Record<string, number> {
  const used = tokens.flatMap((token, id) =>
    kinds[id] === UNUSED ? [] : [[spelt(token, id), id] as const],
  );
  return Object.fromEntries(used);
}

/** The `model` of a `tokenizer.json`. */
export function bpe(vocab: Record<string, number>, merges: readonly (readonly string[])[]) {
  return {
    type: 'BPE',
    dropout: null,
    unk_token: null,
    continuing_subword_prefix: null,
    end_of_word_suffix: null,
    fuse_unk: false,
    byte_fallback: false,
    vocab,
    merges,
  };
}

/** Null if they are not texts. Throws `TOKENIZER` when one is not of two tokens. */
export function mergesIn(path: string, metadata: Metadata): readonly (readonly string[])[] | null {
  const merges = metadata.get('tokenizer.ggml.merges');
  return isTexts(merges) ? merges.map((merge) => pairOf(path, merge)) : null;
}

function pairOf(path: string, merge: string): readonly string[] {
  const space = merge.indexOf(' ', 1);
  if (space < 0) throw refuse(path, `'${outsideText(merge, 40)}' is not a merge of two tokens`);
  return [merge.slice(0, space), merge.slice(space + 1)];
}

function isTexts(value: unknown): value is readonly string[] {
  return Array.isArray(value) && value.every((each) => typeof each === 'string');
}

export function isNumbers(value: unknown): value is readonly number[] {
  return Array.isArray(value) && value.every((each) => typeof each === 'number');
}
