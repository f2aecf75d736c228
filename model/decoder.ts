/**
 * The policy's network, defined once: a decoder of the Llama family (Llama 2 and 3, SmolLM2, Qwen2, Qwen2.5,
 * Qwen3).
 *
 * RMS norms, rotary positions, grouped-query attention, SwiGLU; biases, norms over heads and a tied head
 * if the configuration says so. The definition says what is computed, in which order and with which
 * parameters. How it is computed is up to a lowering: `lowering/sequences.ts` writes whole
 * sequences that can be differentiated (training, scoring), `lowering/cached.ts` writes tokens over a cache
 * of keys and values (generation).
 */
import type { DecoderConfig } from './config.ts';
import type { Value } from './graph/graph.ts';

/** The residual stream between two norms: its value, and what the last part adds (null before the first). */
export interface Residual {
  readonly stream: Value;
  readonly delta: Value | null;
}

/**
 * The verbs of the network. Names are those of parameters; what goes in and comes out has the lowering's own
 * shapes. `Result` is what a pass is for: logits, probabilities, what is said of given tokens.
 */
export interface Lowering<Result> {
  /** Rows of the table `weight`, one for each token of this pass. */
  embed(weight: string): Value;
  /**
   * One layer, written by `body`; a lowering may write it a second time instead of keeping its inner values.
   */
  layer(input: Residual, body: (input: Residual) => Residual): Residual;
  /** RMS norm of stream + delta, and that sum: the stream from here on. */
  norm(input: Residual, weight: string): { readonly normed: Value; readonly stream: Value };
  /**
   * Linear maps of one input. Each has `<name>.weight`, and `<name>.bias` if the configuration lists one.
   */
  project(x: Value, names: readonly string[]): readonly Value[];
  /** The last axis as `heads` heads. */
  byHead(x: Value, heads: number): Value;
  /** RMS norm over every head. */
  headNorm(x: Value, weight: string): Value;
  /** Turned by position. */
  rotate(x: Value): Value;
  /** Causal attention; queries of several heads share a head of keys and values. Heads are joined again. */
  attend(layer: number, queries: Value, keys: Value, values: Value): Value;
  /** silu(gate) * up. */
  gated(gate: Value, up: Value): Value;
  /** The stream at the given places. */
  pick(input: Residual): Residual;
  /** The end: the last norm and the head's weight [vocabSize, hiddenSize]. */
  head(x: Value, weight: string): Result;
}

const EMBEDDING = 'model.embed_tokens.weight';

/** Writes the network with the verbs of `lowering`. */
export function decoder<Result>(config: DecoderConfig, lowering: Lowering<Result>): Result {
  let residual: Residual = { stream: lowering.embed(EMBEDDING), delta: null };
  for (let layer = 0; layer < config.layers; layer++)
    residual = lowering.layer(residual, (input) => block(config, lowering, input, layer));
  const { normed } = lowering.norm(lowering.pick(residual), 'model.norm.weight');
  return lowering.head(normed, config.tiedEmbeddings ? EMBEDDING : 'lm_head.weight');
}

function block(
  config: DecoderConfig,
  lowering: Lowering<unknown>,
  input: Residual,
  layer: number,
): Residual {
  const name = `model.layers.${layer}`;
  const before = lowering.norm(input, `${name}.input_layernorm.weight`);
  const delta = attention(config, lowering, before.normed, layer);
  const middle = { stream: before.stream, delta };
  const after = lowering.norm(middle, `${name}.post_attention_layernorm.weight`);
  return { stream: after.stream, delta: feedForward(lowering, after.normed, `${name}.mlp`) };
}

function attention(
  config: DecoderConfig,
  lowering: Lowering<unknown>,
  x: Value,
  layer: number,
): Value {
  const name = `model.layers.${layer}.self_attn`;
  const projections = ['q', 'k', 'v'].map((which) => `${name}.${which}_proj`);
  const [q, k, v] = lowering.project(x, projections) as [Value, Value, Value];
  const turned = (flat: Value, heads: number, norm: string) => {
    const split = lowering.byHead(flat, heads);
    return lowering.rotate(config.qkNorm ? lowering.headNorm(split, `${name}.${norm}`) : split);
  };
  const queries = turned(q, config.heads, 'q_norm.weight');
  const keys = turned(k, config.kvHeads, 'k_norm.weight');
  const values = lowering.byHead(v, config.kvHeads);
  const mixed = lowering.attend(layer, queries, keys, values);
  return lowering.project(mixed, [`${name}.o_proj`])[0] as Value;
}

function feedForward(lowering: Lowering<unknown>, x: Value, name: string): Value {
  const names = [`${name}.gate_proj`, `${name}.up_proj`];
  const [gate, up] = lowering.project(x, names) as [Value, Value];
  return lowering.project(lowering.gated(gate, up), [`${name}.down_proj`])[0] as Value;
}
