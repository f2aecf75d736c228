/**
 * What a Hugging Face folder has besides the network and its weights, from a GGUF file's metadata: tokenizer,
 * chat template, generation settings, ids of special tokens.
 */
import type { Metadata } from './ggufFile.ts';
import { tokenizerJson } from './tokenizerJson.ts';
import { vocabularyOf } from './vocabulary.ts';

/** Parsed JSON files by name. Throws `TOKENIZER`. */
export function sideFiles(
  path: string,
  metadata: Metadata,
  vocabSize: number,
  withTokenizer: boolean,
): ReadonlyMap<string, unknown> {
  const ids = idsOf(metadata, vocabSize);
  const files = new Map<string, unknown>([
    ['config.json', { bos_token_id: ids.bos, eos_token_id: ids.eos, pad_token_id: ids.pad }],
    ['generation_config.json', generation(ids)],
  ]);
  if (!withTokenizer) return files;
  files.set('tokenizer.json', tokenizerJson(path, metadata, vocabSize));
  const { tokens } = vocabularyOf(path, metadata, vocabSize);
  const named = (id: number | null) => (id === null ? null : (tokens[id] ?? null));
  files.set('tokenizer_config.json', {
    bos_token: named(ids.bos),
    eos_token: named(ids.eos),
    pad_token: named(ids.pad),
    unk_token: named(ids.unk),
    clean_up_tokenization_spaces: false,
    tokenizer_class: 'PreTrainedTokenizerFast',
    ...templates(metadata),
  });
  return files;
}

interface Ids {
  readonly bos: number | null;
  readonly eos: number | null;
  readonly pad: number | null;
  readonly unk: number | null;
  /** Tokens that end a turn, including `eos`. */
  readonly ends: readonly number[];
}

function idsOf(metadata: Metadata, vocabSize: number): Ids {
  const id = (name: string): number | null => {
    const value = metadata.get(`tokenizer.ggml.${name}_token_id`);
    const isId = Number.isInteger(value) && (value as number) >= 0 && (value as number) < vocabSize;
    return isId ? (value as number) : null;
  };
  const eos = id('eos');
  const ends = [...new Set([eos, id('eot'), id('eom')])].filter((each) => each !== null);
  return { bos: id('bos'), eos, pad: id('padding'), unk: id('unknown'), ends };
}

function generation({ bos, pad, ends }: Ids): Record<string, unknown> {
  return {
    ...(bos === null ? {} : { bos_token_id: bos }),
    ...(ends.length === 0 ? {} : { eos_token_id: ends.length === 1 ? ends[0] : ends }),
    ...(pad === null ? {} : { pad_token_id: pad }),
  };
}

const TEMPLATE = 'tokenizer.chat_template';

/** One template, or several by their names. */
function templates(metadata: Metadata): Record<string, unknown> {
  const plain = metadata.get(TEMPLATE);
  const others = [...metadata].flatMap(([key, template]) =>
    key.startsWith(`${TEMPLATE}.`) && typeof template === 'string'
      ? [{ name: key.slice(TEMPLATE.length + 1), template }]
      : [],
  );
  if (others.length === 0) return typeof plain === 'string' ? { chat_template: plain } : {};
  const usual = typeof plain === 'string' ? [{ name: 'default', template: plain }] : [];
  return { chat_template: [...usual, ...others] };
}
