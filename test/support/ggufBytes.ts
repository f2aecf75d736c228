/** GGUF files made for tests: metadata and tensors as they are given, right or wrong. */
import type { Tensors } from '../../model/config.ts';

/** A number by its kind, a text, or a list of texts, of 32-bit integers or of 32-bit floats. */
export type GgufValue =
  | string
  | boolean
  | { readonly u32: number }
  | { readonly f32: number }
  | readonly string[]
  | { readonly i32s: readonly number[] }
  | { readonly f32s: readonly number[] };

export interface GivenTensor {
  readonly name: string;
  /** Innermost first, as in the file. */
  readonly sizes: readonly number[];
  readonly type: number;
  readonly data: Uint8Array;
}

const ALIGNMENT = 32;

export function ggufBytes(
  metadata: Readonly<Record<string, GgufValue>>,
  tensors: readonly GivenTensor[],
): Buffer {
  const entries = Object.entries(metadata);
  const head = [Buffer.from('GGUF'), u32(3), u64(tensors.length), u64(entries.length)];
  for (const [key, value] of entries) head.push(text(key), valueBytes(value));
  const data: Buffer[] = [];
  let offset = 0;
  for (const { name, sizes, type, data: bytes } of tensors) {
    head.push(text(name), u32(sizes.length), ...sizes.map(u64), u32(type), u64(offset));
    data.push(padded(Buffer.from(bytes)));
    offset += data.at(-1)!.length;
  }
  return Buffer.concat([padded(Buffer.concat(head)), ...data]);
}

/** Float32 numbers as a tensor of the file. */
export function singles(name: string, shape: readonly number[], data: Float32Array): GivenTensor {
  const bytes = new Uint8Array(data.buffer, data.byteOffset, data.byteLength);
  return { name, sizes: [...shape].reverse(), type: 0, data: bytes };
}

const NAMES: readonly (readonly [string, string])[] = [
  ['model.embed_tokens', 'token_embd'],
  ['model.norm', 'output_norm'],
  ['lm_head', 'output'],
  ['model.layers', 'blk'],
  ['self_attn.q_proj', 'attn_q'],
  ['self_attn.k_proj', 'attn_k'],
  ['self_attn.v_proj', 'attn_v'],
  ['self_attn.o_proj', 'attn_output'],
  ['self_attn.q_norm', 'attn_q_norm'],
  ['self_attn.k_norm', 'attn_k_norm'],
  ['mlp.gate_proj', 'ffn_gate'],
  ['mlp.up_proj', 'ffn_up'],
  ['mlp.down_proj', 'ffn_down'],
  ['input_layernorm', 'attn_norm'],
  ['post_attention_layernorm', 'ffn_norm'],
];

export function ggufName(name: string): string {
  return NAMES.reduce((all, [from, to]) => all.replace(from, to), name);
}

/**
 * A policy's parameters as llama.cpp stores them. `grouped` = heads of q and k whose rows llama.cpp stores in
 * its own order (of a Llama).
 */
export function policyTensors(
  tensors: Tensors,
  grouped?: { readonly q: number; readonly k: number },
): readonly GivenTensor[] {
  return [...tensors].map(([name, { shape, data }]) => {
    const [, which] = /self_attn\.([qk])_proj/.exec(name) ?? [];
    const heads = grouped?.[which as 'q' | 'k'];
    return singles(
      ggufName(name),
      shape,
      heads === undefined ? data : group(data, shape[0]!, heads),
    );
  });
}

/** As convert_hf_to_gguf.py has it: [heads, 2, half, …] with the inner two swapped. */
function group(data: Float32Array, rows: number, heads: number): Float32Array {
  const width = data.length / rows;
  const half = rows / heads / 2;
  const out: number[] = [];
  for (let head = 0; head < heads; head++)
    for (let i = 0; i < half; i++)
      for (let part = 0; part < 2; part++) {
        const row = (head * 2 + part) * half + i;
        out.push(...data.subarray(row * width, (row + 1) * width));
      }
  return Float32Array.from(out);
}

function valueBytes(value: GgufValue): Buffer {
  if (typeof value === 'string') return Buffer.concat([u32(8), text(value)]);
  if (typeof value === 'boolean') return Buffer.concat([u32(7), Buffer.from([value ? 1 : 0])]);
  if (isTexts(value)) return Buffer.concat([u32(9), u32(8), u64(value.length), ...value.map(text)]);
  if ('u32' in value) return Buffer.concat([u32(4), u32(value.u32)]);
  if ('f32' in value) return Buffer.concat([u32(6), f32(value.f32)]);
  if ('i32s' in value)
    return Buffer.concat([u32(9), u32(5), u64(value.i32s.length), ...value.i32s.map(u32)]);
  return Buffer.concat([u32(9), u32(6), u64(value.f32s.length), ...value.f32s.map(f32)]);
}

function isTexts(value: object): value is readonly string[] {
  return Array.isArray(value);
}

function padded(bytes: Buffer): Buffer {
  return Buffer.concat([bytes, Buffer.alloc((ALIGNMENT - (bytes.length % ALIGNMENT)) % ALIGNMENT)]);
}

export function u32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32LE(value);
  return bytes;
}

export function u64(value: number | bigint): Buffer {
  const bytes = Buffer.alloc(8);
  bytes.writeBigUInt64LE(BigInt(value));
  return bytes;
}

function f32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeFloatLE(value);
  return bytes;
}

export function text(value: string): Buffer {
  return Buffer.concat([u64(Buffer.byteLength(value)), Buffer.from(value)]);
}
