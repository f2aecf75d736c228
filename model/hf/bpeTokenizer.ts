/**
 * The tokenizer of a Hugging Face `tokenizer.json` (byte-pair encoding: Llama, Qwen, Mistral, Gemma, SmolLM)
 * with our interface. A tokenizer of another kind, or with a part that would run differently from the
 * `tokenizers` package does, is refused when it is loaded.
 *
 * A tag is an added token that is not white space alone (`<|im_start|>`, `<think>`). Tags come from texts
 * that are encoded with `tags` alone: a second tokenizer without them encodes text from outside. No token is
 * ever added or left out: `decode(encode(text)) === text` for every text that the tokenizer's own
 * normalisation leaves as it is.
 */
import { Tokenizer as Pipeline } from '@huggingface/tokenizers';
import { z } from 'zod';
import { MillraceError, outsideText, withinDeadline } from '../../base/index.ts';
import type { Tokenizer } from '../engine.ts';
import { type AddedToken, addedTokenFinder } from './addedTokens.ts';
import { GPT2, trustIn } from './knownPatterns.ts';
import { type Pieces, pieceEncoder } from './pieceEncoder.ts';

/** A stretch of text; `tags` as in `encode`. */
export interface TextPart {
  readonly text: string;
  readonly tags: boolean;
}

export interface BpeTokenizer extends Omit<Tokenizer, 'endToken'> {
  bytes(token: number): Uint8Array;
  readonly markers: readonly string[];
  /**
   * Encodes parts as one text: tokens may cross the seams, and tags come only from parts with `tags`. The
   * same as encoding the joined text, if no part without `tags` spells a tag.
   */
  encodeParts(parts: readonly TextPart[]): Int32Array;
  /** What a user should know: bytes that cannot be written, for example. Empty if all is well. */
  readonly problems: readonly string[];
}

/** Vocabularies have up to a few hundred thousand; tables are made by the largest id. */
const tokenId = z.number().int().nonnegative().max(10_000_000);

const addedToken = z.looseObject({
  id: tokenId,
  content: z.string().min(1),
  lstrip: z.boolean().default(false),
  rstrip: z.boolean().default(false),
  special: z.boolean().default(true),
  single_word: z.boolean().default(false),
  normalized: z.boolean().default(true),
});

const decoderPart = z.looseObject({ type: z.string() });

/** A normaliser or pre-tokeniser; a sequence holds others. */
const step = z.looseObject({ type: z.string() });

const tokenizerFile = z.looseObject({
  added_tokens: z.array(addedToken).default([]),
  normalizer: step.nullish(),
  pre_tokenizer: step.nullish(),
  decoder: decoderPart.extend({ decoders: z.array(decoderPart).default([]) }).nullish(),
  model: z.looseObject({
    type: z.string().nullish(),
    vocab: z.record(z.string(), tokenId),
    merges: z.array(z.unknown()),
    byte_fallback: z.boolean().nullish(),
    fuse_unk: z.boolean().nullish(),
    dropout: z.number().nullish(),
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
  try {
    return tokenizerOf(path, json);
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    throw refuse(
      path,
      'its parts are nested too deeply, or a regular expression is too large',
      error,
    );
  }
}

function partsIn(json: unknown): readonly unknown[] {
  const { normalizer, pre_tokenizer, decoder } = (json ?? {}) as Readonly<Record<string, unknown>>;
  return [normalizer, pre_tokenizer, decoder];
}

function tokenizerOf(path: string, json: unknown): BpeTokenizer {
  // before recursion into its parts: a nearly full stack is not safe (see the templates' `deeper`)
  const trust = trustIn(partsIn(json));
  if (trust === 'too large')
    throw refuse(path, 'its normalizer, pre_tokenizer and decoder have too many or too long parts');
  const parsed = tokenizerFile.safeParse(json);
  const kind = (json as { model?: { type?: unknown } } | null)?.model?.type ?? 'BPE';
  if (!parsed.success || kind !== 'BPE')
    throw refuse(
      path,
      `${kind === 'BPE' ? 'not a byte-pair tokenizer' : `a tokenizer of the kind ${String(kind)}`}: only byte-pair ` +
        'tokenizers are supported (model.vocab and model.merges), the kind of Llama, Qwen, Mistral and Gemma checkpoints',
    );
  const { added_tokens: added, model } = parsed.data;
  const data = { ...parsed.data, pre_tokenizer: preTokenizer(path, parsed.data) };
  if (model.dropout) throw refuse(path, 'model.dropout makes its tokens random: set it to null');
  const full = pipeline(path, data);
  keepByteOrderMarks((full.decoder ?? {}) as Decoder);
  const tags = added.filter(({ content }) => content.trim() !== '');
  checkTags(path, data.normalizer, tags);
  const blank = added.filter(({ content }) => content.trim() === '');
  const plain = pipeline(path, { ...data, added_tokens: blank });
  // the beginning of a text may get a space before it; text after a tag does not
  const later = withoutFirstSpace(data.pre_tokenizer);
  const following =
    later === null ? plain : pipeline(path, { ...data, added_tokens: blank, pre_tokenizer: later });
  const tagIds = new Map(tags.map(({ content, id }) => [content, id]));
  const texts = new Map([...tagIds].map(([content, id]) => [id, content]));
  const known = new Set([...Object.values(model.vocab), ...added.map(({ id }) => id)]);

  const late = () =>
    refuse(path, 'its regular expressions (pre_tokenizer, normalizer, decoder) take too long');
  const guarded =
    trust === 'unknown'
      ? <Result>(act: () => Result) => withinDeadline(act, late)
      : <Result>(act: () => Result) => act();
  const run = (which: Pipeline, text: string): readonly number[] =>
    text === '' ? [] : which.encode(text, { add_special_tokens: false }).ids;
  /** A vocabulary may list a tag among its pieces; it is then spelt by smaller pieces. */
  const spelt = (ids: readonly number[]): readonly number[] =>
    ids.some((id) => texts.has(id))
      ? ids.flatMap((id) => {
          const tag = texts.get(id);
          return tag === undefined
            ? id
            : [...tag].flatMap((character) => run(following, character));
        })
      : ids;
  const byPiece = blank.length === 0 ? piecewise(path, data, plain) : null;
  const encodePieces =
    byPiece === null
      ? null
      : pieceEncoder(byPiece.cut, (piece) => spelt(run(byPiece.piece, piece)));
  const withoutTags = (text: string, first = true): readonly number[] =>
    encodePieces?.(text) ?? spelt(run(first ? plain : following, text));
  // white space that is a token goes before a tag that begins with some
  const spaced = tags.some(({ content }) => content.trim() !== content);
  const find = addedTokenFinder(spaced ? added : tags);
  const ids = (list: readonly number[], parts: readonly TextPart[]): Int32Array => {
    if (list.includes(undefined as never)) {
      const text = parts.map((part) => part.text).join('');
      throw refuse(
        path,
        `a part of ${JSON.stringify(text.slice(0, 40))} has no token, and the vocabulary has no token for unknown text`,
      );
    }
    return Int32Array.from(list);
  };

  const ofBytes = isOfBytes(parsed.data);
  const bytesOf = tokenBytesOf(parsed.data);

  const encodeParts = (parts: readonly TextPart[]): Int32Array => {
    const out: number[] = [];
    let open = '';
    const close = () => {
      for (const id of withoutTags(open, out.length === 0)) out.push(id);
      open = '';
    };
    for (const { text, tags: tagged } of parts)
      for (const piece of tagged ? find(text) : [{ text, id: null }]) {
        if (piece.id === null) open += piece.text;
        else {
          close();
          out.push(piece.id);
        }
      }
    close();
    return ids(out, parts);
  };

  const tokenizer: BpeTokenizer = {
    vocabSize: [...known].reduce((most, id) => Math.max(most, id + 1), 0),
    markers: tags.filter(({ special }) => special).map(({ content }) => content),
    problems: problemsOf(model.vocab, model.byte_fallback ?? false),
    encode(text, options) {
      return tokenizer.encodeParts([{ text, tags: options?.tags !== false }]);
    },
    encodeParts: (parts) => guarded(() => encodeParts(parts)),
    decode(tokens) {
      // a policy's head is often wider than the vocabulary: such ids have no text
      const list = Array.from(tokens).filter((id) => known.has(id));
      if (list.length === 0) return '';
      if (ofBytes) return Buffer.concat(list.map((token) => bytesOf(token)!)).toString();
      const options = { skip_special_tokens: false, clean_up_tokenization_spaces: false };
      return guarded(() => full.decode(list, options));
    },
    bytes: (token) => bytesOf(token) ?? new Uint8Array(0),
    id(token) {
      const [first, ...more] = tagIds.has(token)
        ? [tagIds.get(token)!]
        : guarded(() => withoutTags(token));
      if (first === undefined || more.length > 0 || tokenizer.decode([first]) !== token)
        throw refuse(path, `there is no token for exactly ${JSON.stringify(token)}`);
      return first;
    },
  };
  return tokenizer;
}

function pipeline(path: string, json: TokenizerFile): Pipeline {
  try {
    // files without a type date from when there was only one
    return new Pipeline({ ...json, model: { ...json.model, type: 'BPE' } }, {});
  } catch (cause) {
    throw refuse(path, `it cannot be used: ${outsideText((cause as Error).message)}`, cause);
  }
}

/**
 * What cuts a text into pieces, and what encodes a piece: of a byte-level tokenizer that cuts before it
 * turns to bytes, and joins nothing afterwards. Null for another.
 */
function piecewise(
  path: string,
  file: TokenizerFile,
  whole: Pipeline,
): { readonly cut: Pieces; readonly piece: Pipeline } | null {
  const all = steps(file.pre_tokenizer, 'pretokenizers');
  const [cuts, bytes] = [all.slice(0, -1), all.at(-1)];
  const isBytes = bytes?.type === 'ByteLevel' && bytes.use_regex === false;
  const areCuts = cuts.every(({ type, behavior }) => type === 'Split' && behavior === 'Isolated');
  if (!isBytes || !areCuts || file.model.fuse_unk === true) return null;
  const bare = { ...file, added_tokens: [], model: { ...file.model, vocab: {}, merges: [] } };
  const piece = pipeline(path, { ...bare, normalizer: null, pre_tokenizer: sequence([bytes]) });
  const { normalizer, pre_tokenizer: cutter } = pipeline(path, {
    ...bare,
    pre_tokenizer: sequence(cuts),
  }) as unknown as Cutting;
  const patterns = cutter?.tokenizers.map(({ pattern }) => pattern) ?? [];
  if (!patterns.every((pattern) => pattern !== null)) return null;
  // A vocabulary is large: there is one of them.
  const { model } = whole as unknown as { readonly model: unknown };
  return {
    cut: { normalizer, cuts: patterns },
    piece: Object.assign(piece, { model }),
  };
}

/** The part of the library's pipeline that is supported here. */
interface Cutting extends Pick<Pieces, 'normalizer'> {
  /** A sequence of splits. */
  readonly pre_tokenizer: {
    readonly tokenizers: readonly { readonly pattern: RegExp | null }[];
  } | null;
}

type Step = z.infer<typeof step>;

/** The steps of a sequence, or the one step. */
function steps(of: Step | null | undefined, within: string): readonly Step[] {
  if (!of) return [];
  const inner = of.type === 'Sequence' ? of[within] : null;
  return Array.isArray(inner) ? inner.flatMap((each) => steps(each as Step, within)) : [of];
}

const sequence = (pretokenizers: readonly Step[]): Step | null =>
  pretokenizers.length === 0 ? null : { type: 'Sequence', pretokenizers };

const isolated = (Regex: string): Step => ({
  type: 'Split',
  pattern: { Regex },
  behavior: 'Isolated',
  invert: false,
});

/** The pre-tokeniser, written so that it is run as the `tokenizers` package runs it. */
function preTokenizer(
  path: string,
  { pre_tokenizer: given, normalizer }: TokenizerFile,
): Step | null {
  const spaceless = steps(normalizer, 'normalizers').some(
    ({ type, pattern }) => type === 'Replace' && (pattern as { String?: string })?.String === ' ',
  );
  const written = steps(given, 'pretokenizers').flatMap((each): readonly Step[] => {
    if (each.type === 'ByteLevel' && each.add_prefix_space === true)
      throw refuse(path, 'pre_tokenizer: a ByteLevel with add_prefix_space is not supported');
    if (each.type === 'ByteLevel' && each.use_regex !== false)
      return [isolated(GPT2), { ...each, use_regex: false }];
    // the library counts only 0 to 9 as digits
    if (each.type === 'Digits')
      return [isolated(each.individual_digits === true ? '\\p{N}' : '\\p{N}+')];
    if (each.type !== 'Split') return [each];
    if (each.behavior === 'Isolated') return [{ ...each, invert: false }];
    if (each.behavior === 'Removed') return [each];
    // of Gemma: its normaliser has left no space to split at
    if (spaceless && (each.pattern as { String?: string })?.String === ' ') return [];
    throw refuse(path, `pre_tokenizer: a Split that is ${String(each.behavior)} is not supported`);
  });
  return sequence(written);
}

/** The pre-tokeniser for text that does not begin a text; null if it is the same. */
function withoutFirstSpace(given: Step | null): Step | null {
  const all = steps(given, 'pretokenizers');
  const first = (each: Step) => each.type === 'Metaspace' && each.prepend_scheme === 'first';
  if (!all.some(first)) return null;
  return sequence(all.map((each) => (first(each) ? { ...each, prepend_scheme: 'never' } : each)));
}

/** Refuses tags that are matched after letters are changed, and tags that only match whole words. */
function checkTags(
  path: string,
  normalizer: Step | null | undefined,
  tags: readonly AddedToken[],
): void {
  const word = tags.find((tag) => tag.single_word);
  if (word)
    throw refuse(
      path,
      `the added token ${JSON.stringify(word.content)} is single_word, which is not supported`,
    );
  const changes = steps(normalizer, 'normalizers').find(({ type }) =>
    ['Lowercase', 'StripAccents', 'BertNormalizer'].includes(type),
  );
  const tag = tags.find(({ normalized }) => normalized);
  if (changes && tag)
    throw refuse(
      path,
      `the added token ${JSON.stringify(tag.content)} is normalised by ${changes.type}, which is not supported`,
    );
}

/**
 * The character that byte-level vocabularies write a byte as: itself if it can be seen, else from 256 on.
 */
export function byteCharacters(): readonly string[] {
  const seen = (byte: number) =>
    (byte >= 33 && byte <= 126) || (byte >= 161 && byte <= 172) || byte >= 174;
  let next = 256;
  return Array.from({ length: 256 }, (_, byte) => String.fromCharCode(seen(byte) ? byte : next++));
}

/** As in the library, to the extent that they are read here. */
interface Decoder {
  readonly decoders?: readonly Decoder[];
  text_decoder?: InstanceType<typeof TextDecoder>;
}

/** The library's byte decoder drops U+FEFF at the beginning of a stretch of bytes; text keeps it. */
function keepByteOrderMarks(decoder: Decoder): void {
  for (const part of decoder.decoders ?? []) keepByteOrderMarks(part);
  if (decoder.text_decoder === undefined) return;
  decoder.text_decoder = new TextDecoder('utf-8', { ignoreBOM: true });
}

function problemsOf(vocab: Readonly<Record<string, number>>, fallback: boolean): readonly string[] {
  const names = fallback
    ? Array.from({ length: 256 }, (_, i) => `<0x${i.toString(16).toUpperCase().padStart(2, '0')}>`)
    : byteCharacters();
  const missing = names.filter((name) => !Object.hasOwn(vocab, name)).length;
  return missing === 0
    ? []
    : [`the vocabulary lacks ${missing} of the 256 bytes: text with them cannot be restored`];
}

/** Whether a text is exactly the bytes of its tokens. */
function isOfBytes({ decoder, model }: TokenizerFile): boolean {
  if (!decoder || model.end_of_word_suffix) return false;
  const parts = decoder.type === 'Sequence' ? decoder.decoders : [decoder];
  return parts.length === 1 && parts[0]!.type === 'ByteLevel';
}

/** The bytes that a token adds to a text, made on demand; undefined if there is no such token. */
function tokenBytesOf({ added_tokens, decoder, model }: TokenizerFile) {
  const encoder = new TextEncoder();
  const types = decoder == null ? [] : [decoder, ...decoder.decoders].map(({ type }) => type);
  const written = types.includes('ByteLevel')
    ? new Map(byteCharacters().map((character, byte) => [character, byte]))
    : null;
  const ofPiece = (piece: string): Uint8Array => {
    const bytes = written && [...piece].map((character) => written.get(character));
    if (bytes?.every((byte) => byte !== undefined)) return Uint8Array.from(bytes);
    const [, byte] = (model.byte_fallback && /^<0x([0-9A-F]{2})>$/.exec(piece)) || [];
    if (byte !== undefined) return Uint8Array.of(Number.parseInt(byte, 16));
    return encoder.encode(written ? piece : piece.replaceAll('\u2581', ' '));
  };
  const pieceOf: (string | undefined)[] = [];
  for (const [piece, id] of Object.entries(model.vocab)) pieceOf[id] = piece;
  const made: (Uint8Array | undefined)[] = [];
  for (const { id, content } of added_tokens) made[id] = encoder.encode(content);
  return (token: number): Uint8Array | undefined => {
    const piece = pieceOf[token];
    if (made[token] === undefined && piece !== undefined) made[token] = ofPiece(piece);
    return made[token];
  };
}
