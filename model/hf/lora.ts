/**
 * Low-rank adapters: their factors, first values, and merging into the weights they adapt.
 *
 * A module with weights W [out, in] gets A [r, in] and B [out, r], and acts as W + scale * B A with
 * scale = alpha / r, or alpha / sqrt(r) when rank-stabilised (Hu et al., 2021; Kalajdzievski, 2023).
 */

import { draws, MillraceError } from '../../base/index.ts';
import { type DecoderConfig, parameterShapes, type Tensor } from '../config.ts';
import { checkpointError, shapeText } from './checkpointError.ts';
import type { TensorSource } from './tensorSource.ts';

/** The two factors of one module, float32. */
export interface LoraFactors {
  /** [rank, in]. */
  readonly a: Tensor;
  /** [out, rank]. */
  readonly b: Tensor;
  /** What B A is multiplied with. */
  readonly scale: number;
}

/** A low-rank adapter (Hu et al., 2021): W becomes W + scale * B A in each of its modules. */
export interface LoraAdapter {
  readonly rank: number;
  readonly alpha: number;
  /** Rank-stabilised: scale = alpha / sqrt(rank). */
  readonly stabilised: boolean;
  /** `base_model_name_or_path`: what the adapter was trained on; '' when unknown. */
  readonly base: string;
  /** By module, as in `model.layers.0.self_attn.q_proj`. */
  readonly modules: ReadonlyMap<string, LoraFactors>;
}

/**
 * What B A is multiplied with: alpha / rank, or alpha / sqrt(rank) when rank-stabilised (Kalajdzievski,
 * 2023).
 */
export function loraScale(rank: number, alpha: number, stabilised: boolean): number {
  return alpha / (stabilised ? Math.sqrt(rank) : rank);
}

/** The projections of a layer that an adapter can change. */
export const LORA_TARGETS = [
  'q_proj',
  'k_proj',
  'v_proj',
  'o_proj',
  'gate_proj',
  'up_proj',
  'down_proj',
] as const;
/** The last part of the name of a module that can be adapted. */
export type LoraTarget = (typeof LORA_TARGETS)[number];

/**
 * An adapter to begin with. `targets` are adapted in every layer (all of `LORA_TARGETS` unless given);
 * `stabilised` is false unless given; `base` names the policy, as in PEFT's files.
 */
export interface InitialAdapter {
  readonly rank: number;
  readonly alpha: number;
  readonly stabilised?: boolean;
  readonly targets?: readonly LoraTarget[];
  readonly base?: string;
}

/**
 * An adapter that changes nothing yet: A uniform in ±1/sqrt(in) (PEFT's Kaiming uniform with a = sqrt 5), B
 * zero. The same seed gives the same numbers. Throws `USAGE` for one that would train nothing, or not what is
 * asked for.
 */
export function initialAdapter(
  config: DecoderConfig,
  { rank, alpha, stabilised = false, targets = LORA_TARGETS, base = '' }: InitialAdapter,
  seed: number,
): LoraAdapter {
  checkInitial({ rank, alpha, targets });
  const scale = loraScale(rank, alpha, stabilised);
  const wanted = new Set<string>(targets);
  const modules = new Map<string, LoraFactors>();
  for (const [name, shape] of parameterShapes(config)) {
    const module = name.replace(/\.weight$/, '');
    if (module === name || !wanted.has(module.split('.').at(-1)!)) continue;
    const [out, width] = shape as [number, number];
    const stream = draws('lora', seed, module);
    const bound = 1 / Math.sqrt(width);
    const a = Float32Array.from({ length: rank * width }, (_, i) =>
      Math.fround(bound * (2 * stream.uniform(i) - 1)),
    );
    const b = { shape: [out, rank], data: new Float32Array(out * rank) };
    modules.set(module, { a: { shape: [rank, width], data: a }, b, scale });
  }
  return { rank, alpha, stabilised, base, modules };
}

/** For JavaScript callers, for whom no type says what is missing. */
function checkInitial({ rank, alpha, targets = [] }: InitialAdapter): void {
  const refuse = (what: string): never => {
    throw new MillraceError('USAGE', `the adapter would train nothing: ${what}`);
  };
  if (!(Number.isInteger(rank) && rank > 0))
    refuse(`rank is ${rank}; give a whole number, 1 or more`);
  if (!(Number.isFinite(alpha) && alpha > 0)) refuse(`alpha is ${alpha}; give a number above 0`);
  const known: readonly string[] = LORA_TARGETS;
  const names = known.join(', ');
  if (targets.length === 0) refuse(`targets is empty; leave it out for all of ${names}`);
  const strange = targets.find((target) => !known.includes(target));
  if (strange !== undefined) {
    refuse(`targets has ${JSON.stringify(strange)}, which is not a layer; the layers are ${names}`);
  }
}

/**
 * Throws `CHECKPOINT` if a module of the adapter is not in the decoder or has another size, or if it has
 * none: nothing would be trained or merged.
 */
export function checkAdapter(adapter: LoraAdapter, config: DecoderConfig, folder: string): void {
  if (adapter.modules.size === 0) {
    throw checkpointError(`${folder}: the adapter changes no module of the policy`, {
      file: folder,
    });
  }
  const shapes = parameterShapes(config);
  for (const [module, { a, b }] of adapter.modules) {
    const expected = shapes.get(`${module}.weight`);
    const found = [b.shape[0]!, a.shape[1]!];
    if (expected?.join() !== found.join())
      throw checkpointError(
        `${folder}: the adapter changes '${module}' of shape ${shapeText(found)}, but the policy has ${shapeText(expected)}: it was trained on a different model`,
        { file: folder, tensor: module, expected, found },
      );
  }
}

/** W + scale * B A, summed in float64 and rounded once; the weights given are not changed. */
export function mergedWeights(weights: Tensor, { a, b, scale }: LoraFactors): Tensor {
  const [out, width] = weights.shape as [number, number];
  const rank = a.shape[0]!;
  const data = new Float32Array(weights.data.length);
  const row = new Float64Array(width);
  for (let o = 0; o < out; o++) {
    row.fill(0);
    for (let r = 0; r < rank; r++) {
      const factor = b.data[o * rank + r]!;
      const from = r * width;
      for (let i = 0; i < width; i++) row[i]! += factor * a.data[from + i]!;
    }
    const at = o * width;
    for (let i = 0; i < width; i++) data[at + i] = weights.data[at + i]! + scale * row[i]!;
  }
  return { shape: weights.shape, data };
}

/** The source with the adapter merged into it, a tensor at a time as it is read. */
export function merged(source: TensorSource, adapter: LoraAdapter): TensorSource {
  return {
    tensors: source.tensors,
    async read(name) {
      const tensor = await source.read(name);
      const factors = adapter.modules.get(name.replace(/\.weight$/, ''));
      return factors === undefined || !name.endsWith('.weight')
        ? tensor
        : mergedWeights(tensor, factors);
    },
    close: () => source.close(),
  };
}
