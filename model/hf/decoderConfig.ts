/**
 * `config.json` of a Hugging Face folder to the decoder's configuration and back: Llama 2 and 3, SmolLM2,
 * Qwen2 and 2.5, Qwen3.
 *
 * Reads what transformers 4 and 5 write (`rope_theta` and `rope_scaling`, or `rope_parameters`) with the
 * defaults of its configuration classes; writes the older form, which both read. Whatever would change what
 * is computed and is not implemented (another activation, a sliding window, quantised weights) is refused,
 * never ignored.
 */
import { z } from 'zod';
import { MillraceError } from '../../base/index.ts';
import { type DecoderConfig, LAYERS_MAX, type RopeScaling, SIZE_MAX } from '../config.ts';

type Family = DecoderConfig['architecture'];

const FAMILIES: readonly string[] = ['llama', 'qwen2', 'qwen3'] satisfies Family[];

const CLASSES: Readonly<Record<Family, string>> = {
  llama: 'LlamaForCausalLM',
  qwen2: 'Qwen2ForCausalLM',
  qwen3: 'Qwen3ForCausalLM',
};

/** `max_position_embeddings` if the file leaves it out. */
const MAX_POSITIONS: Readonly<Record<Family, number>> = { llama: 2048, qwen2: 32768, qwen3: 32768 };

const count = z.number().int().positive().max(SIZE_MAX);
const flag = z.boolean().nullish();

const rope = z.looseObject({
  rope_type: z.string().nullish(),
  type: z.string().nullish(),
  rope_theta: z.number().positive().nullish(),
  factor: z.number().positive().nullish(),
  original_max_position_embeddings: count.nullish(),
  low_freq_factor: z.number().nullish(),
  high_freq_factor: z.number().nullish(),
  beta_fast: z.number().nullish(),
  beta_slow: z.number().nullish(),
  attention_factor: z.number().nullish(),
  mscale: z.number().nullish(),
  mscale_all_dim: z.number().nullish(),
  truncate: flag,
  partial_rotary_factor: z.number().nullish(),
});
type Rope = z.infer<typeof rope>;

const file = z.looseObject({
  model_type: z.string(),
  vocab_size: count,
  hidden_size: count,
  num_hidden_layers: count.max(LAYERS_MAX),
  num_attention_heads: count,
  num_key_value_heads: count.nullish(),
  intermediate_size: count,
  head_dim: count.nullish(),
  max_position_embeddings: count.nullish(),
  rms_norm_eps: z.number().positive().nullish(),
  rope_theta: z.number().positive().nullish(),
  rope_scaling: rope.nullish(),
  rope_parameters: rope.nullish(),
  partial_rotary_factor: z.number().nullish(),
  tie_word_embeddings: flag,
  attention_bias: flag,
  mlp_bias: flag,
  hidden_act: z.string().nullish(),
  use_sliding_window: flag,
  layer_types: z.array(z.string()).nullish(),
  quantization_config: z.unknown().optional(),
});
type File = z.infer<typeof file>;

function refuse(path: string, what: string): MillraceError<'MODEL_CONFIG'> {
  return new MillraceError('MODEL_CONFIG', `${path}: ${what}`, { context: { file: path } });
}

/** The decoder that a parsed `config.json` describes; `path` is for messages. Throws `MODEL_CONFIG`. */
export function readDecoderConfig(path: string, json: unknown): DecoderConfig {
  const family = (json as { model_type?: unknown } | null)?.model_type;
  if (typeof family !== 'string' || !FAMILIES.includes(family))
    throw refuse(
      path,
      `model_type is ${JSON.stringify(family)}; supported are ${FAMILIES.join(', ')} (SmolLM2 is a llama)`,
    );
  const parsed = file.safeParse(json);
  if (!parsed.success) {
    const [{ path: field, message }] = parsed.error.issues as [z.core.$ZodIssue];
    throw refuse(path, `${field.join('.')}: ${message}`);
  }
  const problem = unsupported(parsed.data);
  if (problem !== null) throw refuse(path, problem);
  return decoder(path, parsed.data, family as Family);
}

/** A feature of this file that we would compute differently; null = none. */
function unsupported(config: File): string | null {
  if (config.hidden_act != null && config.hidden_act !== 'silu')
    return `hidden_act is '${config.hidden_act}'; only silu is implemented`;
  if (config.quantization_config != null)
    return 'the weights are quantised (quantization_config): use the unquantised checkpoint';
  const windowed = config.layer_types?.some((type) => type !== 'full_attention');
  if (windowed ?? config.use_sliding_window === true)
    return 'it uses a sliding window; only full attention is implemented';
  const { rope_scaling: scaling, rope_parameters: parameters } = config;
  const partial = [config, scaling, parameters].map((part) => part?.partial_rotary_factor ?? 1);
  if (partial.some((factor) => factor !== 1))
    return 'partial_rotary_factor is not 1; only rotary positions over the whole head are implemented';
  return null;
}

function decoder(path: string, config: File, family: Family): DecoderConfig {
  const scaling = config.rope_parameters ?? config.rope_scaling ?? {};
  const maxPositions = config.max_position_embeddings ?? MAX_POSITIONS[family];
  const ropeScaling = readRope(path, scaling, maxPositions);
  const heads = config.num_attention_heads;
  const width = config.head_dim ?? (family === 'qwen3' ? 128 : config.hidden_size / heads);
  // Qwen2 always has them on q, k and v and never on o; the others have them on all four or none
  const biased = family !== 'qwen2' && config.attention_bias === true;
  return {
    architecture: family,
    vocabSize: config.vocab_size,
    hiddenSize: config.hidden_size,
    layers: config.num_hidden_layers,
    heads,
    kvHeads: config.num_key_value_heads ?? (family === 'llama' ? heads : 32),
    intermediateSize: config.intermediate_size,
    ...(width === config.hidden_size / heads ? {} : { headDim: width }),
    ropeTheta: scaling.rope_theta ?? config.rope_theta ?? 10000,
    ...(ropeScaling === null ? {} : { ropeScaling }),
    maxPositions,
    rmsEps: config.rms_norm_eps ?? 1e-6,
    attentionBias: family === 'qwen2' || biased,
    ...(biased ? { outputBias: true } : {}),
    ...(family === 'llama' && config.mlp_bias === true ? { mlpBias: true } : {}),
    ...(family === 'qwen3' ? { qkNorm: true } : {}),
    tiedEmbeddings: config.tie_word_embeddings ?? false,
  };
}

function readRope(path: string, scaling: Rope, maxPositions: number): RopeScaling | null {
  const kind = scaling.rope_type ?? scaling.type ?? 'default';
  const need = (field: 'factor' | 'low_freq_factor' | 'high_freq_factor'): number => {
    const value = scaling[field];
    if (value == null) throw refuse(path, `rope type '${kind}' needs ${field}`);
    return value;
  };
  const originalMaxPositions = scaling.original_max_position_embeddings ?? maxPositions;
  switch (kind) {
    case 'default':
      return null;
    case 'linear':
    case 'dynamic':
      return { kind, factor: need('factor') };
    case 'llama3':
      return {
        kind,
        factor: need('factor'),
        lowFrequencyFactor: need('low_freq_factor'),
        highFrequencyFactor: need('high_freq_factor'),
        originalMaxPositions,
      };
    case 'yarn':
      return {
        kind,
        factor: need('factor'),
        originalMaxPositions,
        ...(scaling.beta_fast == null ? {} : { betaFast: scaling.beta_fast }),
        ...(scaling.beta_slow == null ? {} : { betaSlow: scaling.beta_slow }),
        ...(scaling.attention_factor == null ? {} : { attentionFactor: scaling.attention_factor }),
        ...(scaling.mscale == null ? {} : { mscale: scaling.mscale }),
        ...(scaling.mscale_all_dim == null ? {} : { mscaleAllDim: scaling.mscale_all_dim }),
        ...(scaling.truncate == null ? {} : { truncate: scaling.truncate }),
      };
    default:
      throw refuse(
        path,
        `rope type '${kind}' is not implemented; only default, linear, dynamic, llama3 and yarn are`,
      );
  }
}

function writeRope(scaling: RopeScaling): Record<string, unknown> {
  switch (scaling.kind) {
    case 'linear':
    case 'dynamic':
      return { rope_type: scaling.kind, factor: scaling.factor };
    case 'llama3':
      return {
        rope_type: 'llama3',
        factor: scaling.factor,
        low_freq_factor: scaling.lowFrequencyFactor,
        high_freq_factor: scaling.highFrequencyFactor,
        original_max_position_embeddings: scaling.originalMaxPositions,
      };
    case 'yarn': {
      const fields = {
        rope_type: 'yarn',
        factor: scaling.factor,
        original_max_position_embeddings: scaling.originalMaxPositions,
        beta_fast: scaling.betaFast,
        beta_slow: scaling.betaSlow,
        attention_factor: scaling.attentionFactor,
        mscale: scaling.mscale,
        mscale_all_dim: scaling.mscaleAllDim,
        truncate: scaling.truncate,
      };
      return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined));
    }
  }
}

/**
 * The fields of `config.json` for this decoder. `before` is the `config.json` that the weights once came
 * with: what says nothing about the network (token ids, dropout, …) is kept from it. The family is the one
 * that the configuration names, or the first whose files can say what it computes (a Qwen2 without biases is
 * a Llama). Throws `MODEL_CONFIG` if there is none.
 */
export function writeDecoderConfig(
  config: DecoderConfig,
  torchDtype: string,
  before: Readonly<Record<string, unknown>> = {},
): Record<string, unknown> {
  const family = familyOf(config);
  const { rope_parameters: _rope, dtype: _dtype, layer_types: _layers, ...kept } = before;
  return {
    bos_token_id: null,
    eos_token_id: null,
    ...kept,
    architectures: [CLASSES[family]],
    model_type: family,
    vocab_size: config.vocabSize,
    hidden_size: config.hiddenSize,
    num_hidden_layers: config.layers,
    num_attention_heads: config.heads,
    num_key_value_heads: config.kvHeads,
    intermediate_size: config.intermediateSize,
    head_dim: config.headDim ?? config.hiddenSize / config.heads,
    hidden_act: 'silu',
    max_position_embeddings: config.maxPositions ?? MAX_POSITIONS[family],
    rms_norm_eps: config.rmsEps,
    rope_theta: config.ropeTheta,
    rope_scaling: config.ropeScaling === undefined ? null : writeRope(config.ropeScaling),
    tie_word_embeddings: config.tiedEmbeddings,
    ...(family === 'qwen2' ? {} : { attention_bias: config.attentionBias }),
    ...(family === 'llama' ? { mlp_bias: config.mlpBias ?? false } : { use_sliding_window: false }),
    torch_dtype: torchDtype,
  };
}

/** The family whose files can say what this decoder computes: the one it names, or the first that can. */
function familyOf(config: DecoderConfig): Family {
  const families = [config.architecture, ...(FAMILIES as Family[])];
  const found = families.find((family) => obstacle(family, config) === null);
  if (found !== undefined) return found;
  throw refuse('config.json', `${obstacle(config.architecture, config)}: save it as one file`);
}

/** Why the family's files cannot describe this decoder; null if they can. */
function obstacle(family: Family, config: DecoderConfig): string | null {
  const { attentionBias, outputBias = false, qkNorm = false } = config;
  if (qkNorm !== (family === 'qwen3'))
    return `a ${family} checkpoint ${qkNorm ? 'cannot have' : 'always has'} norms on q and k`;
  if (family === 'qwen2' && (!attentionBias || outputBias))
    return 'a qwen2 checkpoint has biases on q, k and v and none on o';
  if (family !== 'qwen2' && attentionBias !== outputBias)
    return `a ${family} checkpoint has biases on q, k, v and o, or on none of them`;
  if (config.mlpBias === true && family !== 'llama')
    return `a ${family} checkpoint cannot have biases in its feed-forward layers`;
  return null;
}
