/**
 * The shape of a decoder policy: its configuration, its parameters by name, and keyed-random first weights.
 *
 * Names and [out, in] layout are those of Hugging Face Llama, Qwen2 and Qwen3 checkpoints. The fields, not
 * the name of the architecture, say what is computed; a field that is left out is a feature that is absent,
 * so a configuration saved before the field existed still means the same network.
 */
import { draws } from '../base/index.ts';

/** How the rotary angles are stretched for contexts longer than those of the first training. */
export type RopeScaling =
  /** Every position is divided by `factor`. */
  | { readonly kind: 'linear'; readonly factor: number }
  /** NTK by the length of the sequence: unscaled up to `maxPositions`, and refused beyond (see rope.ts). */
  | { readonly kind: 'dynamic'; readonly factor: number }
  /** Llama 3.1: low frequencies are divided by `factor`, high ones kept, those in between blended. */
  | {
      readonly kind: 'llama3';
      readonly factor: number;
      readonly lowFrequencyFactor: number;
      readonly highFrequencyFactor: number;
      readonly originalMaxPositions: number;
    }
  /**
   * YaRN (Peng et al., 2023): a blend by wavelength, and attention sharpened by a factor on cosines and
   * sines.
   */
  | {
      readonly kind: 'yarn';
      readonly factor: number;
      readonly originalMaxPositions: number;
      /** Rotations over the original context at which blending begins and ends; 32 and 1 when left out. */
      readonly betaFast?: number;
      readonly betaSlow?: number;
      /**
       * Factor on cosines and sines; when left out, from `mscale` and `mscaleAllDim`, else 0.1 ln(factor) +
       * 1.
       */
      readonly attentionFactor?: number;
      readonly mscale?: number;
      readonly mscaleAllDim?: number;
      /** Whether the ends of the blend are rounded outward to whole dimensions; true when left out. */
      readonly truncate?: boolean;
    };

/** Beyond any model: what a configuration makes us hold grows with its sizes. */
export const SIZE_MAX = 16_777_216;
/** Of layers; each has a dozen tensors. */
export const LAYERS_MAX = 1_000;

/**
 * Everything that decides what a decoder computes and which parameters it has; sizes are counts of numbers,
 * heads or tokens.
 */
export interface DecoderConfig {
  /** The family whose files this reads and writes; what is computed is in the fields below. */
  readonly architecture: 'llama' | 'qwen2' | 'qwen3';
  readonly vocabSize: number;
  readonly hiddenSize: number;
  readonly layers: number;
  readonly heads: number;
  readonly kvHeads: number;
  readonly intermediateSize: number;
  /** hiddenSize / heads when left out. */
  readonly headDim?: number;
  readonly ropeTheta: number;
  readonly ropeScaling?: RopeScaling;
  /** Positions that the model was made for; a longer context is not refused (but see `dynamic`). */
  readonly maxPositions?: number;
  readonly rmsEps: number;
  /** Biases on the q, k and v projections. */
  readonly attentionBias: boolean;
  /** A bias on the attention's output projection (Llama files with `attention_bias`). */
  readonly outputBias?: boolean;
  /** Biases on the three feed-forward projections (Llama files with `mlp_bias`). */
  readonly mlpBias?: boolean;
  /** An RMS norm with weights over every head of q and of k, before rotation (Qwen3). */
  readonly qkNorm?: boolean;
  /** The head shares the embedding's weights. */
  readonly tiedEmbeddings: boolean;
}

/** A named float32 tensor, row major. */
export interface Tensor {
  readonly shape: readonly number[];
  readonly data: Float32Array;
}

/** Parameters by their Hugging Face name (`model.layers.0.self_attn.q_proj.weight`), matrices [out, in]. */
export type Tensors = ReadonlyMap<string, Tensor>;

/** Width of one attention head: `headDim` if it is given, else hiddenSize / heads. */
export function headDim(config: DecoderConfig): number {
  return config.headDim ?? config.hiddenSize / config.heads;
}

/**
 * Every parameter with its shape, in the order of a checkpoint. Throws when the sizes do not fit together.
 */
export function parameterShapes(config: DecoderConfig): ReadonlyMap<string, readonly number[]> {
  check(config);
  const { hiddenSize, intermediateSize, vocabSize } = config;
  const width = headDim(config);
  const shapes = new Map<string, readonly number[]>();
  shapes.set('model.embed_tokens.weight', [vocabSize, hiddenSize]);
  for (let layer = 0; layer < config.layers; layer++) {
    const name = `model.layers.${layer}`;
    shapes.set(`${name}.input_layernorm.weight`, [hiddenSize]);
    for (const [which, heads] of [
      ['q', config.heads],
      ['k', config.kvHeads],
      ['v', config.kvHeads],
    ] as const) {
      shapes.set(`${name}.self_attn.${which}_proj.weight`, [heads * width, hiddenSize]);
      if (config.attentionBias) shapes.set(`${name}.self_attn.${which}_proj.bias`, [heads * width]);
    }
    if (config.qkNorm) {
      shapes.set(`${name}.self_attn.q_norm.weight`, [width]);
      shapes.set(`${name}.self_attn.k_norm.weight`, [width]);
    }
    shapes.set(`${name}.self_attn.o_proj.weight`, [hiddenSize, config.heads * width]);
    if (config.outputBias) shapes.set(`${name}.self_attn.o_proj.bias`, [hiddenSize]);
    shapes.set(`${name}.post_attention_layernorm.weight`, [hiddenSize]);
    for (const [which, out, into] of [
      ['gate', intermediateSize, hiddenSize],
      ['up', intermediateSize, hiddenSize],
      ['down', hiddenSize, intermediateSize],
    ] as const) {
      shapes.set(`${name}.mlp.${which}_proj.weight`, [out, into]);
      if (config.mlpBias) shapes.set(`${name}.mlp.${which}_proj.bias`, [out]);
    }
  }
  shapes.set('model.norm.weight', [hiddenSize]);
  if (!config.tiedEmbeddings) shapes.set('lm_head.weight', [vocabSize, hiddenSize]);
  return shapes;
}

function check(config: DecoderConfig): void {
  const { layers, vocabSize, hiddenSize, intermediateSize, heads, kvHeads } = config;
  const sizes = { layers, vocabSize, hiddenSize, intermediateSize, heads, kvHeads };
  for (const [name, size] of Object.entries(sizes)) {
    const most = name === 'layers' ? LAYERS_MAX : SIZE_MAX;
    if (!Number.isInteger(size) || size < 1 || size > most)
      throw new Error(`${name} (${size}) must be a whole number from 1 to ${most}`);
  }
  if (config.heads % config.kvHeads !== 0)
    throw new Error(`heads (${config.heads}) must be a multiple of kvHeads (${config.kvHeads})`);
  const width = headDim(config);
  if (!Number.isInteger(width) || width % 2 !== 0)
    throw new Error(`the width of a head must be an even whole number, not ${width}: set headDim`);
}

/**
 * First weights: norms 1, biases 0, matrices normal with standard deviation 0.02, those that write into the
 * residual stream (o_proj, down_proj) divided by sqrt(2 * layers) as in GPT-2. The same seed gives the same
 * weights.
 */
export function initialise(config: DecoderConfig, seed: number): Tensors {
  const residual = 1 / Math.sqrt(2 * config.layers);
  const tensors = new Map<string, Tensor>();
  for (const [name, shape] of parameterShapes(config)) {
    const count = shape.reduce((product, size) => product * size, 1);
    const scale = /(o_proj|down_proj)\.weight$/.test(name) ? 0.02 * residual : 0.02;
    const data = name.endsWith('norm.weight')
      ? new Float32Array(count).fill(1)
      : name.endsWith('.bias')
        ? new Float32Array(count)
        : normals(count, scale, seed, name);
    tensors.set(name, { shape, data });
  }
  return tensors;
}

/** Box-Muller over the stream that the seed and the tensor's name key. */
function normals(count: number, scale: number, seed: number, name: string): Float32Array {
  const stream = draws('initialise', seed, name);
  const data = new Float32Array(count);
  for (let i = 0; i < count; i += 2) {
    const radius = scale * Math.sqrt(-2 * Math.log(1 - stream.uniform(i)));
    const angle = 2 * Math.PI * stream.uniform(i + 1);
    data[i] = radius * Math.cos(angle);
    if (i + 1 < count) data[i + 1] = radius * Math.sin(angle);
  }
  return data;
}
