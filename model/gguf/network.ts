/**
 * The decoder that a GGUF file describes: llama.cpp's keys and tensor names in place of those of
 * `config.json`.
 *
 * Llama (SmolLM2 and Mistral too), Qwen2 and Qwen3. Anything that we would compute differently is
 * refused with `MODEL_CONFIG`, never ignored: a sliding window, rotation over part of a head, experts.
 */
import { MillraceError, outsideText } from '../../base/index.ts';
import type { DecoderConfig } from '../config.ts';
import type { GgufFile, Metadata } from './ggufFile.ts';

type Family = DecoderConfig['architecture'];
const FAMILIES: readonly string[] = ['llama', 'qwen2', 'qwen3'] satisfies Family[];

/** Llama 3.1's factors on frequencies: not a parameter, but part of the configuration. */
export const ROPE_FACTORS = 'rope_freqs.weight';

export function refuse(path: string, what: string): MillraceError<'MODEL_CONFIG'> {
  return new MillraceError('MODEL_CONFIG', `${path}: ${what}`, { context: { file: path } });
}

/** Without the scaling in `rope_freqs.weight`. Throws `MODEL_CONFIG`. */
export function networkOf({ path, metadata, tensors }: GgufFile): DecoderConfig {
  const family = metadata.get('general.architecture');
  if (typeof family !== 'string' || !FAMILIES.includes(family))
    throw refuse(
      path,
      `its architecture is ${outsideText(String(family))}; supported are ${FAMILIES.join(', ')} (SmolLM2 is a llama)`,
    );
  if (Number(metadata.get('split.count') ?? 1) > 1)
    throw refuse(path, 'it is one of several parts: join them with llama-gguf-split --merge');
  const fields = fieldsOf(path, metadata, family);
  const heads = fields.need('attention.head_count');
  const hiddenSize = fields.need('embedding_length');
  const headDim = fields.get('attention.key_length') ?? hiddenSize / heads;
  const rotated = fields.get('rope.dimension_count') ?? headDim;
  if (rotated !== headDim)
    throw refuse(
      path,
      `it rotates ${rotated} of the ${headDim} dimensions of a head; only rotating all of them is supported`,
    );
  if (fields.get('attention.sliding_window'))
    throw refuse(path, 'it uses a sliding window; only full attention is implemented');
  const embedding = tensors.get('token_embd.weight');
  if (embedding === undefined) throw refuse(path, "it has no tensor 'token_embd.weight'");
  const has = (name: string) => tensors.has(name);
  const biased = has('blk.0.attn_q.bias');
  const scaling = linearScaling(path, metadata, family);
  return {
    architecture: family as Family,
    vocabSize: embedding.shape[0]!,
    hiddenSize,
    layers: fields.need('block_count'),
    heads,
    kvHeads: fields.get('attention.head_count_kv') ?? heads,
    intermediateSize: fields.need('feed_forward_length'),
    ...(headDim === hiddenSize / heads ? {} : { headDim }),
    ropeTheta: fields.get('rope.freq_base') ?? 10_000,
    ...(scaling === null ? {} : { ropeScaling: scaling }),
    maxPositions: fields.need('context_length'),
    rmsEps: fields.need('attention.layer_norm_rms_epsilon'),
    attentionBias: biased,
    ...(has('blk.0.attn_output.bias') ? { outputBias: true } : {}),
    ...(has('blk.0.ffn_gate.bias') ? { mlpBias: true } : {}),
    ...(has('blk.0.attn_q_norm.weight') ? { qkNorm: true } : {}),
    tiedEmbeddings: !has('output.weight'),
  };
}

function fieldsOf(path: string, metadata: Metadata, family: string) {
  const get = (name: string): number | undefined => {
    const value = metadata.get(`${family}.${name}`);
    if (value === undefined || (typeof value === 'number' && Number.isFinite(value))) return value;
    throw refuse(path, `${family}.${name} must be one number`);
  };
  const need = (name: string): number => {
    const value = get(name);
    if (value !== undefined && value > 0) return value;
    throw refuse(path, `${family}.${name} must be set and above 0`);
  };
  return { get, need };
}

function linearScaling(path: string, metadata: Metadata, family: string) {
  const kind = metadata.get(`${family}.rope.scaling.type`) ?? 'none';
  if (kind === 'none') return null;
  const factor = metadata.get(`${family}.rope.scaling.factor`);
  if (kind === 'linear' && typeof factor === 'number' && factor > 0)
    return { kind: 'linear', factor } as const;
  throw refuse(
    path,
    `its rotary positions are scaled (${outsideText(String(kind))}); only linear and Llama 3's are supported`,
  );
}

/** The decoder's parameter for a tensor of the file. */
export interface Parameter {
  readonly name: string;
  /** Rows of this many heads are ordered as llama.cpp rotates them (`ungrouped`). */
  readonly heads?: number;
}

const OUTER: Readonly<Record<string, string>> = {
  token_embd: 'model.embed_tokens',
  output_norm: 'model.norm',
  output: 'lm_head',
};

const INNER: Readonly<Record<string, string>> = {
  attn_norm: 'input_layernorm',
  attn_q: 'self_attn.q_proj',
  attn_k: 'self_attn.k_proj',
  attn_v: 'self_attn.v_proj',
  attn_q_norm: 'self_attn.q_norm',
  attn_k_norm: 'self_attn.k_norm',
  attn_output: 'self_attn.o_proj',
  ffn_norm: 'post_attention_layernorm',
  ffn_gate: 'mlp.gate_proj',
  ffn_up: 'mlp.up_proj',
  ffn_down: 'mlp.down_proj',
};

/** Null if the decoder has no such parameter. */
export function parameterOf(tensor: string, config: DecoderConfig): Parameter | null {
  const [, layer, part = '', what] = /^(?:blk\.(\d+)\.)?(\w+)\.(weight|bias)$/.exec(tensor) ?? [];
  const names = layer === undefined ? OUTER : INNER;
  if (!Object.hasOwn(names, part)) return null;
  const name = `${layer === undefined ? '' : `model.layers.${layer}.`}${names[part]}.${what}`;
  if (config.architecture !== 'llama') return { name };
  if (part === 'attn_q') return { name, heads: config.heads };
  return part === 'attn_k' ? { name, heads: config.kvHeads } : { name };
}

/**
 * llama.cpp rotates neighbouring rows of a Llama's q and k together, Hugging Face's layout a row of the first
 * half of a head with one of the second: rows 0, 2, 4, … of each head come first, then 1, 3, 5, …
 */
export function ungrouped(data: Float32Array, rows: number, heads: number): Float32Array {
  const width = data.length / rows;
  const half = rows / heads / 2;
  const out = new Float32Array(data.length);
  for (let row = 0; row < rows; row++) {
    const within = row % (2 * half);
    const from = row - within + (within < half ? 2 * within : 2 * (within - half) + 1);
    out.set(data.subarray(from * width, (from + 1) * width), row * width);
  }
  return out;
}
