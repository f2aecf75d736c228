/**
 * A policy's parameters as the decode graphs want them: one block of bytes, projections of one input side by side.
 *
 * q, k and v become one matrix, gate and up another; the rotary tables are added. Cosines and sines are of
 * angles rounded as the training graph rounds them (float32 position times float32 frequency).
 */
import { type DecoderConfig, headDim, type Tensor, type Tensors } from '../config.ts';

export interface Part {
  readonly shape: readonly number[];
  readonly offset: number;
  readonly bytes: number;
}

export interface PackedWeights {
  /** What a graph calls the block. */
  readonly location: string;
  readonly data: Uint8Array;
  readonly parts: ReadonlyMap<string, Part>;
}

/** `contextMax` positions get an angle. */
export function packWeights(
  config: DecoderConfig,
  tensors: Tensors,
  contextMax: number,
): PackedWeights {
  const packed = named(config, tensors, contextMax);
  const parts = new Map<string, Part>();
  let offset = 0;
  for (const [name, { shape, data }] of packed) {
    parts.set(name, { shape, offset, bytes: data.byteLength });
    offset += data.byteLength;
  }
  const all = new Float32Array(offset / 4);
  for (const [name, { data }] of packed) all.set(data, parts.get(name)!.offset / 4);
  return { location: 'weights', data: new Uint8Array(all.buffer), parts };
}

function named(config: DecoderConfig, tensors: Tensors, contextMax: number): Map<string, Tensor> {
  const get = (name: string) => {
    const tensor = tensors.get(name);
    if (!tensor)
      throw new Error(`the weights have no tensor '${name}': they are of another architecture`);
    return tensor;
  };
  const packed = new Map<string, Tensor>([
    ['embedding', get('model.embed_tokens.weight')],
    ['norm', get('model.norm.weight')],
    ['cosines', rotary(config, contextMax, Math.cos)],
    ['sines', rotary(config, contextMax, Math.sin)],
  ]);
  packed.set(
    'head',
    config.tiedEmbeddings ? get('model.embed_tokens.weight') : get('lm_head.weight'),
  );
  for (let layer = 0; layer < config.layers; layer++) {
    const from = `model.layers.${layer}`;
    const attention = ['q', 'k', 'v'].map((which) => `${from}.self_attn.${which}_proj`);
    packed.set(`${layer}.inputNorm`, get(`${from}.input_layernorm.weight`));
    packed.set(`${layer}.qkv`, stack(attention.map((name) => get(`${name}.weight`))));
    if (config.attentionBias)
      packed.set(`${layer}.qkv.bias`, stack(attention.map((name) => get(`${name}.bias`))));
    packed.set(`${layer}.output`, get(`${from}.self_attn.o_proj.weight`));
    packed.set(`${layer}.middleNorm`, get(`${from}.post_attention_layernorm.weight`));
    packed.set(
      `${layer}.gateUp`,
      stack(['gate', 'up'].map((name) => get(`${from}.mlp.${name}_proj.weight`))),
    );
    packed.set(`${layer}.down`, get(`${from}.mlp.down_proj.weight`));
  }
  return packed;
}

/** Join along the first axis. */
function stack(tensors: readonly Tensor[]): Tensor {
  const rows = tensors.reduce((sum, { shape }) => sum + shape[0]!, 0);
  const data = new Float32Array(tensors.reduce((sum, tensor) => sum + tensor.data.length, 0));
  let at = 0;
  for (const tensor of tensors) {
    data.set(tensor.data, at);
    at += tensor.data.length;
  }
  return { shape: [rows, ...tensors[0]!.shape.slice(1)], data };
}

/** [contextMax, headDim / 2]: a function of position * theta^(-2i / headDim). */
function rotary(config: DecoderConfig, contextMax: number, of: (angle: number) => number): Tensor {
  const half = headDim(config) / 2;
  const data = new Float32Array(contextMax * half);
  for (let i = 0; i < half; i++) {
    const frequency = Math.fround(config.ropeTheta ** (-i / half));
    for (let p = 0; p < contextMax; p++) data[p * half + i] = of(Math.fround(p * frequency));
  }
  return { shape: [contextMax, half], data };
}
