/**
 * The parts of a byte-level tokenizer (`gpt2`), with the cut of the models that its pre-tokenizer is named
 * after.
 *
 * `tokenizer.ggml.pre` says how text is cut before merging. A name that we do not know is refused, because
 * any other cut gives other tokens.
 */
import { outsideText } from '../../base/index.ts';
import { byteCharacters } from '../hf/bpeTokenizer.ts';
import { GPT2, LLAMA3, QWEN2 } from '../hf/knownPatterns.ts';
import type { Metadata } from './ggufFile.ts';
import {
  bpe,
  CONTROL,
  mergesIn,
  refuse,
  USER_DEFINED,
  type Vocabulary,
  vocabOf,
} from './vocabulary.ts';

/** How text is prepared and cut. */
interface Cut {
  readonly patterns: readonly string[];
  /** Each digit by itself, before the patterns. */
  readonly digits?: boolean;
  /** Characters are composed first. */
  readonly nfc?: boolean;
  /** A piece that is a token is not merged. */
  readonly whole?: boolean;
  /** Begins with `bos` unless the file says otherwise. */
  readonly bos?: boolean;
}

const llama3: Cut = { patterns: [LLAMA3], whole: true, bos: true };

const CUTS: Readonly<Record<string, Cut>> = {
  'gpt-2': { patterns: [GPT2] },
  smollm: { patterns: [GPT2], digits: true },
  'llama-bpe': llama3,
  llama3,
  'llama-v3': llama3,
  qwen2: { patterns: [QWEN2], nfc: true },
  'deepseek-r1-qwen': { patterns: [QWEN2], bos: true },
};

export function byteLevel(path: string, metadata: Metadata, { tokens, kinds }: Vocabulary) {
  const pre = metadata.get('tokenizer.ggml.pre');
  const cut = typeof pre === 'string' && Object.hasOwn(CUTS, pre) ? CUTS[pre] : undefined;
  if (cut === undefined)
    throw refuse(
      path,
      `its pre-tokenizer is ${outsideText(String(pre))}; supported are ${Object.keys(CUTS).join(', ')}`,
    );
  const merges = mergesIn(path, metadata);
  if (merges === null) throw refuse(path, 'it has no merges (tokenizer.ggml.merges)');
  const bytes = { type: 'ByteLevel', add_prefix_space: false, trim_offsets: true };
  const split = (Regex: string) =>
    ({ type: 'Split', pattern: { Regex }, behavior: 'Isolated', invert: false }) as const;
  const spell = spelling();
  const spelt = (token: string, id: number) =>
    kinds[id] === CONTROL || kinds[id] === USER_DEFINED ? token : spell(token);
  return {
    normalizer: cut.nfc === true ? { type: 'NFC' } : null,
    pre_tokenizer: {
      type: 'Sequence',
      pretokenizers: [
        ...(cut.digits === true ? [{ type: 'Digits', individual_digits: true }] : []),
        ...cut.patterns.map(split),
        { ...bytes, use_regex: false },
      ],
    },
    decoder: { ...bytes, use_regex: true },
    model: {
      ...bpe(vocabOf(tokens, kinds, spelt), merges),
      ignore_merges: cut.whole ?? false,
    },
    bos: cut.bos ?? false,
  };
}

/** Some files have tokens in plain text, which a byte-level vocabulary writes byte by byte. */
function spelling(): (token: string) => string {
  const characters = byteCharacters();
  const known = new Set(characters);
  return (token) =>
    [...token].every((character) => known.has(character))
      ? token
      : [...Buffer.from(token)].map((byte) => characters[byte]).join('');
}
