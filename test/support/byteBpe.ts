/**
 * A byte-level BPE tokenizer as checkpoints have it, made from a few merges: every tag is many tokens unless
 * it is added.
 */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Tokenizer } from '../../model/engine.ts';
import { bpeTokenizer } from '../../model/hf/bpeTokenizer.ts';

export interface ByteBpe {
  /** Pairs that are joined, as texts, first first: ['>', '.'] makes a token `>.`. */
  readonly merges?: readonly (readonly [string, string])[];
  /** Tokens of their own, after those; the first ends a text. */
  readonly added?: readonly string[];
}

const ADDED = ['<|im_end|>', '<|im_start|>'];

/** `tokenizer.json`. */
export function byteBpeJson({ merges = [], added = ADDED }: ByteBpe = {}) {
  const written = byteCharacters();
  const spelt = (text: string): string =>
    [...new TextEncoder().encode(text)].map((byte) => written[byte]).join('');
  const pieces = [...written, ...merges.map(([a, b]) => spelt(a + b))];
  const byteLevel = { type: 'ByteLevel', add_prefix_space: false, trim_offsets: true };
  return {
    version: '1.0',
    added_tokens: added.map((content, i) => ({
      id: pieces.length + i,
      content,
      special: true,
      normalized: false,
      single_word: false,
      lstrip: false,
      rstrip: false,
    })),
    normalizer: null,
    pre_tokenizer: { ...byteLevel, use_regex: false },
    post_processor: null,
    decoder: { ...byteLevel, use_regex: true },
    model: {
      type: 'BPE',
      vocab: Object.fromEntries(pieces.map((piece, id) => [piece, id])),
      merges: merges.map(([a, b]) => [spelt(a), spelt(b)]),
    },
  };
}

/** The tokenizer alone. */
export function byteBpe(options: ByteBpe = {}): Tokenizer {
  const base = bpeTokenizer('test', byteBpeJson(options));
  return { ...base, endToken: base.id((options.added ?? ADDED)[0]!) };
}

/** Writes it into a folder as a checkpoint has it. */
export function writeByteBpe(
  folder: string,
  template: string | null,
  options: ByteBpe & { readonly start?: string } = {},
): void {
  const { added = ADDED, start } = options;
  const config = {
    eos_token: added[0],
    bos_token: start,
    ...(template === null ? {} : { chat_template: template }),
  };
  writeFileSync(join(folder, 'tokenizer.json'), JSON.stringify(byteBpeJson(options)));
  writeFileSync(join(folder, 'tokenizer_config.json'), JSON.stringify(config));
}

/** GPT-2's characters for bytes. */
function byteCharacters(): string[] {
  let next = 256;
  return Array.from({ length: 256 }, (_, byte) => {
    const seen = (byte >= 33 && byte <= 126) || (byte >= 161 && byte <= 172) || byte >= 174;
    return String.fromCharCode(seen ? byte : next++);
  });
}
