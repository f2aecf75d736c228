/** Small GGUF files of each family with a byte-level tokenizer: what llama.cpp would make of a random policy. */
import { type DecoderConfig, initialise, type Tensors } from '../../../model/config.ts';
import { byteCharacters } from '../../../model/hf/bpeTokenizer.ts';
import {
  type GgufValue,
  type GivenTensor,
  ggufBytes,
  policyTensors,
} from '../../support/ggufBytes.ts';

const MERGES = ['h e', 'l l', 'he ll', 'hell o', 'Ġ w', 'Ċ Ċ', 'Ġ Ġ', 'Ġ Â'];
const TAGS = ['<|start|>', '<|end|>', '<tool>'];

/** Control tokens, a user-defined one, all bytes, what is merged, and one that only fills up. */
const tokens = [
  ...TAGS,
  ...byteCharacters(),
  ...MERGES.map((merge) => merge.replace(' ', '')),
  '[PAD]',
];
const kinds = tokens.map((token) =>
  token === '[PAD]' ? 5 : token === '<tool>' ? 4 : TAGS.includes(token) ? 3 : 1,
);

export const TEMPLATE =
  "{% for m in messages %}<|start|>{{ m['role'] }}\n{{ m['content'] }}<|end|>{% endfor %}";

const configs = {
  llama: { architecture: 'llama', attentionBias: false, tiedEmbeddings: true },
  qwen2: { architecture: 'qwen2', attentionBias: true, tiedEmbeddings: false },
  qwen3: {
    architecture: 'qwen3',
    attentionBias: false,
    tiedEmbeddings: true,
    qkNorm: true,
    // all of Qwen3 have it, and transformers' loader of GGUF takes no other
    headDim: 128,
  },
} as const;

export type Family = keyof typeof configs;

export function tinyConfig(family: Family): DecoderConfig {
  return {
    ...configs[family],
    vocabSize: tokens.length,
    hiddenSize: 32,
    layers: 2,
    heads: 4,
    kvHeads: 2,
    intermediateSize: 64,
    ropeTheta: 10_000,
    maxPositions: 128,
    rmsEps: Math.fround(1e-5),
  };
}

export interface Tiny {
  readonly config: DecoderConfig;
  readonly policy: Tensors;
  readonly metadata: Readonly<Record<string, GgufValue>>;
  readonly tensors: readonly GivenTensor[];
}

export function tiny(family: Family, pre = 'gpt-2'): Tiny {
  const config = tinyConfig(family);
  const policy = initialise(config, 5);
  const grouped = family === 'llama' ? { q: config.heads, k: config.kvHeads } : undefined;
  const metadata = { ...network(family, config), ...tokenizer(pre) };
  return { config, policy, metadata, tensors: policyTensors(policy, grouped) };
}

function network(family: Family, config: DecoderConfig): Record<string, GgufValue> {
  const width = config.headDim ?? config.hiddenSize / config.heads;
  return {
    'general.architecture': family,
    [`${family}.block_count`]: { u32: config.layers },
    [`${family}.context_length`]: { u32: config.maxPositions! },
    [`${family}.embedding_length`]: { u32: config.hiddenSize },
    [`${family}.feed_forward_length`]: { u32: config.intermediateSize },
    [`${family}.attention.head_count`]: { u32: config.heads },
    [`${family}.attention.head_count_kv`]: { u32: config.kvHeads },
    [`${family}.attention.layer_norm_rms_epsilon`]: { f32: config.rmsEps },
    [`${family}.rope.freq_base`]: { f32: config.ropeTheta },
    ...(family === 'qwen3' ? { [`${family}.attention.key_length`]: { u32: width } } : {}),
    ...(family === 'llama' ? { [`${family}.rope.dimension_count`]: { u32: width } } : {}),
  };
}

function tokenizer(pre: string): Record<string, GgufValue> {
  return {
    'tokenizer.ggml.model': 'gpt2',
    'tokenizer.ggml.pre': pre,
    'tokenizer.ggml.tokens': tokens,
    'tokenizer.ggml.token_type': { i32s: kinds },
    'tokenizer.ggml.merges': MERGES,
    'tokenizer.ggml.bos_token_id': { u32: 0 },
    'tokenizer.ggml.eos_token_id': { u32: 1 },
    'tokenizer.chat_template': TEMPLATE,
  };
}

export function bytesOf({ metadata, tensors }: Pick<Tiny, 'metadata' | 'tensors'>): Buffer {
  return ggufBytes(metadata, tensors);
}
