/**
 * The tokenizer of a Hugging Face `tokenizer.json` (byte-pair encoding: Llama, Qwen, SmolLM) behind our interface.
 *
 * A tag is an added token that is not white space alone (`<|im_start|>`, `<think>`). Tags come from texts that are
 * encoded with `tags` alone: a second tokenizer without them encodes text from outside. No token is ever added or left
 * out: `decode(encode(text)) === text` for every text that the tokenizer's own normalisation leaves as it is.
 */
import { Tokenizer as Pipeline } from '@huggingface/tokenizers';
import { z } from 'zod';
import { MillraceError } from '../../base/errors.ts';
import type { Tokenizer } from '../engine.ts';

/** A stretch of text; `tags` as in `encode`. */
export interface TextPart {
  readonly text: string;
  readonly tags: boolean;
}

export interface BpeTokenizer extends Omit<Tokenizer, 'endToken'> {
  /**
   * Encode parts as one text: tokens may reach over the seams, tags come from parts with `tags` alone. The same as
   * encoding the text that the parts make, when no part without `tags` spells one.
   */
  encodeParts(parts: readonly TextPart[]): Int32Array;
  /** What a person should know: bytes that cannot be written, say. Empty when all is well. */
  readonly problems: readonly string[];
}

const addedToken = z.looseObject({
  id: z.number().int().nonnegative(),
  content: z.string().min(1),
  lstrip: z.boolean().default(false),
  rstrip: z.boolean().default(false),
});
type AddedToken = z.infer<typeof addedToken>;

const tokenizerFile = z.looseObject({
  added_tokens: z.array(addedToken).default([]),
  model: z.looseObject({
    type: z.string().nullish(),
    vocab: z.record(z.string(), z.number().int().nonnegative()),
    merges: z.array(z.unknown()),
    byte_fallback: z.boolean().nullish(),
  }),
});
type TokenizerFile = z.infer<typeof tokenizerFile>;

function refuse(path: string, what: string, cause?: unknown): MillraceError<'TOKENIZER'> {
  return new MillraceError('TOKENIZER', `${path}: ${what}`, {
    context: { file: path },
    ...(cause === undefined ? {} : { cause }),
  });
}

/** A tokenizer over the parsed `tokenizer.json`; `path` is for messages. Throws `TOKENIZER`. */
export function bpeTokenizer(path: string, json: unknown): BpeTokenizer {
  const parsed = tokenizerFile.safeParse(json);
  if (!parsed.success || (parsed.data.model.type ?? 'BPE') !== 'BPE')
    throw refuse(
      path,
      'not a byte-pair tokenizer (model.vocab and model.merges), the kind that Llama and Qwen checkpoints have',
    );
  const { added_tokens: added, model } = parsed.data;
  const full = pipeline(path, parsed.data);
  const tags = added.filter(({ content }) => content.trim() !== '');
  const blank = added.filter(({ content }) => content.trim() === '');
  const plain = pipeline(path, { ...parsed.data, added_tokens: blank });
  const tagIds = new Map(tags.map(({ content, id }) => [content, id]));
  const texts = new Map([...tagIds].map(([content, id]) => [id, content]));
  const known = new Set([...Object.values(model.vocab), ...added.map(({ id }) => id)]);

  const run = (which: Pipeline, text: string): readonly number[] =>
    text === '' ? [] : which.encode(text, { add_special_tokens: false }).ids;
  /** A vocabulary may list a tag among its pieces; then it is spelt in pieces of its own. */
  const withoutTags = (text: string): readonly number[] =>
    run(plain, text).flatMap((id) => {
      const tag = texts.get(id);
      return tag === undefined ? id : [...tag].flatMap((character) => run(plain, character));
    });
  const cut = cutter(tags);
  const ids = (list: readonly number[], text: string): Int32Array => {
    if (list.some((id) => id === undefined))
      throw refuse(
        path,
        `a part of ${JSON.stringify(text.slice(0, 40))} has no token, and the vocabulary has no token for unknown text`,
      );
    return Int32Array.from(list);
  };

  const tokenizer: BpeTokenizer = {
    vocabSize: [...known].reduce((most, id) => Math.max(most, id + 1), 0),
    problems: problemsOf(model.vocab, model.byte_fallback ?? false),
    encode(text, options) {
      return ids(options?.tags === false ? withoutTags(text) : run(full, text), text);
    },
    encodeParts(parts) {
      const out: number[] = [];
      let open = '';
      for (const { text, tags: tagged } of parts)
        for (const piece of tagged ? cut(text) : [text]) {
          const tag = tagged ? tagIds.get(piece.trim()) : undefined;
          if (tag === undefined) open += piece;
          else {
            out.push(...withoutTags(open), tag);
            open = '';
          }
        }
      out.push(...withoutTags(open));
      return ids(out, parts.map(({ text }) => text).join(''));
    },
    decode(tokens) {
      // a policy's head is often wider than the vocabulary: such ids stand for no text
      const list = Array.from(tokens).filter((id) => known.has(id));
      if (list.length === 0) return '';
      const options = { skip_special_tokens: false, clean_up_tokenization_spaces: false };
      return full.decode(list, options);
    },
    id(token) {
      const [first, ...more] = tagIds.has(token) ? [tagIds.get(token)!] : withoutTags(token);
      if (first === undefined || more.length > 0 || tokenizer.decode([first]) !== token)
        throw refuse(path, `there is no token for exactly ${JSON.stringify(token)}`);
      return first;
    },
  };
  return tokenizer;
}

function pipeline(path: string, json: TokenizerFile): Pipeline {
  try {
    // files without a type are of the time when there was one
    return new Pipeline({ ...json, model: { ...json.model, type: 'BPE' } }, {});
  } catch (cause) {
    throw refuse(path, `it cannot be used: ${(cause as Error).message}`, cause);
  }
}

/** Cuts a text into tags (with the white space that they take along) and what lies between. */
function cutter(tags: readonly AddedToken[]): (text: string) => readonly string[] {
  if (tags.length === 0) return (text) => [text];
  const alternatives = [...tags]
    .sort((a, b) => b.content.length - a.content.length)
    .map(({ content, lstrip, rstrip }) => {
      const literal = content.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&');
      return `${lstrip ? '\\s*' : ''}${literal}${rstrip ? '\\s*' : ''}`;
    });
  const pattern = new RegExp(`(${alternatives.join('|')})`, 'u');
  return (text) => text.split(pattern).filter((piece) => piece !== '');
}

/** The character that byte-level vocabularies write a byte as: itself where it can be seen, else from 256 on. */
function byteCharacters(): readonly string[] {
  const seen = (byte: number) =>
    (byte >= 33 && byte <= 126) || (byte >= 161 && byte <= 172) || byte >= 174;
  let next = 256;
  return Array.from({ length: 256 }, (_, byte) => String.fromCharCode(seen(byte) ? byte : next++));
}

function problemsOf(vocab: Readonly<Record<string, number>>, fallback: boolean): readonly string[] {
  const names = fallback
    ? Array.from({ length: 256 }, (_, i) => `<0x${i.toString(16).toUpperCase().padStart(2, '0')}>`)
    : byteCharacters();
  const missing = names.filter((name) => !Object.hasOwn(vocab, name)).length;
  return missing === 0
    ? []
    : [`the vocabulary lacks ${missing} of the 256 bytes: text with them does not come back`];
}
