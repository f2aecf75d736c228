/**
 * The policy's network, defined once: a Llama-family decoder (Qwen2, Llama) over the graph builder.
 *
 * RMSNorm, rotary positions, grouped-query attention, SwiGLU, optional biases on q/k/v, tied or untied head.
 * Activations are flattened to [N, hidden] with N = B * T; the query heads that share a key head are folded
 * into the rows of one matrix, so keys and values are never repeated. Two forms:
 * - `sequenceForm`: whole sequences [B, T], right-padded, causal. For training and scoring.
 * - `cachedForm`: new tokens [B, T] that attend to a read-only cache and to themselves. For decoding.
 */
import type { DecoderConfig } from './config.ts';
import { headDim } from './config.ts';
import type { Graph, Shape, Value } from './graph/graph.ts';
import { attention, embed, linear, pickRows, rmsNorm, rotate, swiglu } from './graph/layers.ts';
import { add, multiply, reshape, transpose } from './graph/ops.ts';

/** Where a parameter comes from: a fed input, or an initialiser. Called once per parameter. */
export type Parameters = (name: string, shape: readonly number[]) => Value;

/** A layer's keys and values before it sees the new tokens, and the mask that hides empty slots. */
interface LayerCache {
  readonly keys: Value;
  readonly values: Value;
  readonly mask: Value;
}

/** What the layers of one pass share. */
interface Pass {
  readonly config: DecoderConfig;
  readonly parameter: (name: string, shape: readonly number[]) => Value;
  readonly cosines: Value;
  readonly sines: Value;
  /** Causal mask over the new tokens, [G * T, T]. */
  readonly causal: Value;
}

export interface SequenceForm {
  /** Logits [M, V] of the rows asked for. */
  readonly logits: Value;
}

/**
 * Inputs: `tokens` int32 [B, T]; `positions` int32 [1, T] (0, 1, …); `rows` int32 [M], the places in the
 * flattened [B * T] whose next-token logits are wanted, without repeats.
 */
export function sequenceForm(
  graph: Graph,
  config: DecoderConfig,
  parameters: Parameters,
): SequenceForm {
  const tokens = graph.input('tokens', 'int32', ['B', 'T']);
  const positions = graph.input('positions', 'int32', [1, 'T']);
  const rows = graph.input('rows', 'int32', ['M']);
  const pass = beginPass(graph, config, parameters, positions);
  let x = embed(
    pass.parameter(EMBEDDING, [config.vocabSize, config.hiddenSize]),
    reshape(tokens, ['N']),
  );
  for (let layer = 0; layer < config.layers; layer++) x = block(x, layer, pass, null).x;
  return { logits: head(pickRows(x, rows), pass) };
}

export interface CachedForm {
  /** Logits [M, V] of the rows asked for. */
  readonly logits: Value;
  /** Per layer, the new tokens' rotated keys and values, each [B, KV, T, headDim]. */
  readonly keys: readonly Value[];
  readonly values: readonly Value[];
}

/**
 * Inputs: `tokens` int32 [B, T], `positions` int32 [B, T], `rows` int32 [M] as above; `cacheMask` float
 * [B, 1, 1, S], 0 where a slot holds a token and -Infinity where it does not; per layer i `keys.i` and
 * `values.i` [B, KV, S, headDim]. New tokens see the cache and, causally, each other.
 */
export function cachedForm(
  graph: Graph,
  config: DecoderConfig,
  parameters: Parameters,
): CachedForm {
  const tokens = graph.input('tokens', 'int32', ['B', 'T']);
  const positions = graph.input('positions', 'int32', ['B', 'T']);
  const rows = graph.input('rows', 'int32', ['M']);
  const mask = graph.input('cacheMask', graph.float, ['B', 1, 1, 'S']);
  const pass = beginPass(graph, config, parameters, positions);
  const cacheShape = ['B', config.kvHeads, 'S', headDim(config)];
  let x = embed(
    pass.parameter(EMBEDDING, [config.vocabSize, config.hiddenSize]),
    reshape(tokens, ['N']),
  );
  const [keys, values]: [Value[], Value[]] = [[], []];
  for (let layer = 0; layer < config.layers; layer++) {
    const cache = {
      keys: graph.input(`keys.${layer}`, graph.float, cacheShape),
      values: graph.input(`values.${layer}`, graph.float, cacheShape),
      mask,
    };
    const done = block(x, layer, pass, cache);
    x = done.x;
    keys.push(done.keys);
    values.push(done.values);
  }
  return { logits: head(pickRows(x, rows), pass), keys, values };
}

const EMBEDDING = 'model.embed_tokens.weight';

function beginPass(
  graph: Graph,
  config: DecoderConfig,
  parameters: Parameters,
  positions: Value,
): Pass {
  const known = new Map<string, Value>();
  const parameter = (name: string, shape: readonly number[]) => {
    const value = known.get(name) ?? parameters(name, shape);
    known.set(name, value);
    return value;
  };
  const [cosines, sines] = rotations(graph, config, positions);
  return {
    config,
    parameter,
    cosines,
    sines,
    causal: causalMask(graph, config.heads / config.kvHeads),
  };
}

/** Cosines and sines [batch, 1, 1, T, headDim / 2] of position * theta^(-2i / headDim). */
function rotations(graph: Graph, config: DecoderConfig, positions: Value): [Value, Value] {
  const half = headDim(config) / 2;
  const shape: Shape = [positions.shape[0] ?? 1, 1, 1, 'T', half];
  const frequencies = Array.from({ length: half }, (_, i) => config.ropeTheta ** (-i / half));
  const to = graph.float === 'float32' ? 1 : 11;
  const real = graph.node('Cast', [positions], positions.shape, {
    type: graph.float,
    attributes: { to },
  });
  const column = graph.node(
    'Unsqueeze',
    [real, graph.integers([1, 2, 4])],
    [...shape.slice(0, 4), 1],
  );
  const angles = graph.node('Mul', [column, graph.reals(frequencies)], shape);
  return [graph.node('Cos', [angles], shape), graph.node('Sin', [angles], shape)];
}

/** 0 where a new token may see another, -Infinity where that one comes later; [folds * T, T]. */
function causalMask(graph: Graph, folds: number): Value {
  const length = graph.node('Squeeze', [graph.size('T')], []);
  const [zero, one] = [graph.integers([0]), graph.integers([1])].map((value) =>
    graph.node('Squeeze', [value], []),
  ) as [Value, Value];
  const places = graph.node('Range', [zero, length, one], ['T']);
  const column = graph.node('Unsqueeze', [places, graph.integers([1])], ['T', 1]);
  const later = graph.node('Greater', [places, column], ['T', 'T'], { type: 'bool' });
  const inputs = [later, graph.scalar(Number.NEGATIVE_INFINITY), graph.scalar(0)];
  const mask = graph.node('Where', inputs, ['T', 'T'], { type: graph.float });
  const folded = graph.node('Expand', [mask, graph.sizes([folds, 'T', 'T'])], [folds, 'T', 'T']);
  return reshape(folded, ['GT', 'T']);
}

/** One decoder layer: attention and gated feed-forward, each behind a norm and a residual. */
function block(x: Value, layer: number, pass: Pass, cache: LayerCache | null) {
  const { config } = pass;
  const name = `model.layers.${layer}`;
  const norm = (value: Value, which: string) =>
    rmsNorm(value, pass.parameter(`${name}.${which}.weight`, [config.hiddenSize]), config.rmsEps);
  const { mixed, keys, values } = attend(
    norm(x, 'input_layernorm'),
    `${name}.self_attn`,
    pass,
    cache,
  );
  const middle = add(x, mixed);
  const fed = feedForward(norm(middle, 'post_attention_layernorm'), `${name}.mlp`, pass);
  return { x: add(middle, fed), keys, values };
}

function feedForward(x: Value, name: string, { config, parameter }: Pass): Value {
  const { hiddenSize, intermediateSize } = config;
  const gate = linear(
    x,
    parameter(`${name}.gate_proj.weight`, [intermediateSize, hiddenSize]),
    null,
  );
  const up = linear(x, parameter(`${name}.up_proj.weight`, [intermediateSize, hiddenSize]), null);
  const down = parameter(`${name}.down_proj.weight`, [hiddenSize, intermediateSize]);
  return linear(swiglu(gate, up), down, null);
}

function attend(x: Value, name: string, pass: Pass, cache: LayerCache | null) {
  const { config, parameter, causal } = pass;
  const { hiddenSize, kvHeads } = config;
  const width = headDim(config);
  const folds = config.heads / kvHeads;
  const project = (which: string, heads: number) => {
    const rows = kvHeads * heads * width;
    const weight = parameter(`${name}.${which}_proj.weight`, [rows, hiddenSize]);
    const bias = config.attentionBias ? parameter(`${name}.${which}_proj.bias`, [rows]) : null;
    const flat = reshape(linear(x, weight, bias), ['B', 'T', kvHeads, heads, width]);
    return transpose(flat, [0, 2, 3, 1, 4]);
  };
  const turned = (value: Value) => rotate(value, pass.cosines, pass.sines);
  const queries = reshape(turned(project('q', folds)), ['B', kvHeads, 'GT', width]);
  const keys = reshape(turned(project('k', 1)), ['B', kvHeads, 'T', width]);
  const values = reshape(project('v', 1), ['B', kvHeads, 'T', width]);
  const mixed =
    cache === null
      ? attention(queries, keys, values, causal)
      : splitAttention(queries, keys, values, causal, cache);
  const unfolded = transpose(reshape(mixed, ['B', kvHeads, folds, 'T', width]), [0, 3, 1, 2, 4]);
  const joined = reshape(unfolded, ['N', config.heads * width]);
  const output = parameter(`${name}.o_proj.weight`, [hiddenSize, config.heads * width]);
  return { mixed: linear(joined, output, null), keys, values };
}

/** Attention over cache and new tokens in one softmax, without joining their keys. Not differentiable. */
function splitAttention(
  queries: Value,
  keys: Value,
  values: Value,
  causal: Value,
  cache: LayerCache,
): Value {
  const { graph } = queries;
  const scaled = multiply(queries, graph.scalar(1 / Math.sqrt(Number(queries.shape.at(-1)))));
  const lead = queries.shape.slice(0, -1);
  const scores = (other: Value, mask: Value) => {
    const shape = [...lead, other.shape[2] ?? 'T'];
    const flipped = transpose(other, [0, 1, 3, 2]);
    return graph.node('Add', [graph.node('MatMul', [scaled, flipped], shape), mask], shape);
  };
  const parts = [scores(cache.keys, cache.mask), scores(keys, causal)] as const;
  const joined = graph.node('Concat', parts, [...lead, 'S+T'], { attributes: { axis: -1 } });
  const shares = graph.node('Softmax', [joined], joined.shape, { attributes: { axis: -1 } });
  const sizes = graph.node('Concat', [graph.size('S'), graph.size('T')], [2], {
    attributes: { axis: 0 },
  });
  const [old, fresh] = graph.nodes(
    'Split',
    [shares, sizes],
    [
      [...lead, 'S'],
      [...lead, 'T'],
    ],
    {
      attributes: { axis: -1 },
    },
  ) as [Value, Value];
  return graph.node(
    'Add',
    [
      graph.node('MatMul', [old, cache.values], queries.shape),
      graph.node('MatMul', [fresh, values], queries.shape),
    ],
    queries.shape,
  );
}

/** Final norm and language-model head. */
function head(x: Value, { config, parameter }: Pass): Value {
  const normed = rmsNorm(x, parameter('model.norm.weight', [config.hiddenSize]), config.rmsEps);
  const name = config.tiedEmbeddings ? EMBEDDING : 'lm_head.weight';
  return linear(normed, parameter(name, [config.vocabSize, config.hiddenSize]), null);
}
