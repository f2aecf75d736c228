/**
 * The policy's network, defined once: a Llama-family decoder (Qwen2, Llama) over the graph builder.
 *
 * RMSNorm, rotary positions, grouped-query attention, SwiGLU, optional biases on q/k/v, tied or untied head.
 * Activations are flattened to [N, hidden] with N = B * T; the query heads that share a key head are folded
 * into the rows of one matrix, so keys and values are never repeated. This is the form that is differentiated:
 * whole right-padded sequences. `rollout/decodeGraph.ts` lowers the same network over a cache; a test holds the
 * log-probs of the two together.
 */
import { type DecoderConfig, headDim } from './config.ts';
import type { Graph, Shape, Value } from './graph/graph.ts';
import { attention, embed, linear, pickRows, rmsNorm, rotate, swiglu } from './graph/layers.ts';
import { add, reshape, transpose } from './graph/ops.ts';

/** What the layers share. */
interface Pass {
  readonly config: DecoderConfig;
  readonly parameter: (name: string) => Value;
  /** Of the angle of each place and pair, [T, headDim / 2]. */
  readonly cosines: Value;
  readonly sines: Value;
  /** 0 where a query may see a key, -Infinity where the key comes later, [G * T, T]. */
  readonly mask: Value;
}

/**
 * Next-token logits [M, V]. Adds the inputs `tokens` int32 [B, T] and `rows` int32 [M]: the places in the flattened
 * [B * T] whose logits are wanted, without repeats. `parameters` holds every name of `parameterShapes`.
 */
export function decoderLogits(
  graph: Graph,
  config: DecoderConfig,
  parameters: ReadonlyMap<string, Value>,
): Value {
  const tokens = graph.input('tokens', 'int32', ['B', 'T']);
  const rows = graph.input('rows', 'int32', ['M']);
  const parameter = (name: string) => {
    const value = parameters.get(name);
    if (value === undefined) throw new Error(`the decoder needs a parameter '${name}'`);
    return value;
  };
  const places = graph.node('Range', [scalar(graph, 0), length(graph), scalar(graph, 1)], ['T']);
  const [cosines, sines] = rotations(graph, config, places);
  const mask = causalMask(graph, config.heads / config.kvHeads, places);
  const pass = { config, parameter, cosines, sines, mask };
  let x = embed(parameter(EMBEDDING), reshape(tokens, ['N']));
  for (let layer = 0; layer < config.layers; layer++) x = block(x, layer, pass);
  const normed = rmsNorm(pickRows(x, rows), parameter('model.norm.weight'), config.rmsEps);
  return linear(normed, parameter(config.tiedEmbeddings ? EMBEDDING : 'lm_head.weight'), null);
}

const EMBEDDING = 'model.embed_tokens.weight';

/** A whole number of rank 0. */
function scalar(graph: Graph, value: number): Value {
  return graph.node('Squeeze', [graph.integers([value])], []);
}

/** T as a number of rank 0. */
function length(graph: Graph): Value {
  return graph.node('Squeeze', [graph.size('T')], []);
}

/** Cosines and sines of place * theta^(-2i / headDim). */
function rotations(graph: Graph, config: DecoderConfig, places: Value): [Value, Value] {
  const half = headDim(config) / 2;
  const shape: Shape = ['T', half];
  const frequencies = Array.from({ length: half }, (_, i) => config.ropeTheta ** (-i / half));
  const to = graph.float === 'float32' ? 1 : 11;
  const real = graph.node('Cast', [places], ['T'], { type: graph.float, attributes: { to } });
  const column = graph.node('Unsqueeze', [real, graph.integers([1])], ['T', 1]);
  const angles = graph.node('Mul', [column, graph.reals(frequencies)], shape);
  return [graph.node('Cos', [angles], shape), graph.node('Sin', [angles], shape)];
}

/** The causal mask, once for each of the heads that are folded into the rows. */
function causalMask(graph: Graph, folds: number, places: Value): Value {
  const column = graph.node('Unsqueeze', [places, graph.integers([1])], ['T', 1]);
  const later = graph.node('Greater', [places, column], ['T', 'T'], { type: 'bool' });
  const inputs = [later, graph.scalar(Number.NEGATIVE_INFINITY), graph.scalar(0)];
  const mask = graph.node('Where', inputs, ['T', 'T'], { type: graph.float });
  const folded = graph.node('Expand', [mask, graph.sizes([folds, 'T', 'T'])], [folds, 'T', 'T']);
  return reshape(folded, ['GT', 'T']);
}

/** One layer: attention and gated feed-forward, each behind a norm and with a residual. x is [N, hidden]. */
function block(x: Value, layer: number, pass: Pass): Value {
  const name = `model.layers.${layer}`;
  const norm = (value: Value, which: string) =>
    rmsNorm(value, pass.parameter(`${name}.${which}.weight`), pass.config.rmsEps);
  const middle = add(x, attend(norm(x, 'input_layernorm'), `${name}.self_attn`, pass));
  return add(middle, feedForward(norm(middle, 'post_attention_layernorm'), `${name}.mlp`, pass));
}

function feedForward(x: Value, name: string, { parameter }: Pass): Value {
  const gate = linear(x, parameter(`${name}.gate_proj.weight`), null);
  const up = linear(x, parameter(`${name}.up_proj.weight`), null);
  return linear(swiglu(gate, up), parameter(`${name}.down_proj.weight`), null);
}

function attend(x: Value, name: string, pass: Pass): Value {
  const { config, parameter } = pass;
  const { kvHeads } = config;
  const width = headDim(config);
  const folds = config.heads / kvHeads;
  /** [B, KV, heads a key head, T, width] */
  const project = (which: string, heads: number) => {
    const bias = config.attentionBias ? parameter(`${name}.${which}_proj.bias`) : null;
    const flat = linear(x, parameter(`${name}.${which}_proj.weight`), bias);
    return transpose(reshape(flat, ['B', 'T', kvHeads, heads, width]), [0, 2, 3, 1, 4]);
  };
  const turned = (value: Value) => rotate(value, pass.cosines, pass.sines);
  const queries = reshape(turned(project('q', folds)), ['B', kvHeads, 'GT', width]);
  const keys = reshape(turned(project('k', 1)), ['B', kvHeads, 'T', width]);
  const values = reshape(project('v', 1), ['B', kvHeads, 'T', width]);
  const mixed = attention(queries, keys, values, pass.mask);
  const unfolded = transpose(reshape(mixed, ['B', kvHeads, folds, 'T', width]), [0, 3, 1, 2, 4]);
  const joined = reshape(unfolded, ['N', config.heads * width]);
  return linear(joined, parameter(`${name}.o_proj.weight`), null);
}
