/**
 * The network over whole sequences, as it is differentiated: right-padded tokens [B, T], nothing cached.
 *
 * Activations are flattened to [N, width] with N = B * T; heads are [B, heads, T, headDim]. The query heads
 * that share a key head are folded into the rows of one matrix, so keys and values are never repeated.
 */
import { type DecoderConfig, headDim } from '../config.ts';
import type { Lowering, Residual } from '../decoder.ts';
import type { Graph, Shape, Value } from '../graph/graph.ts';
import { adapt, attention, linear, pickRows, rmsNorm, rotate, swiglu } from '../graph/layers.ts';
import { add, reshape, transpose } from '../graph/ops.ts';
import { recomputed } from '../graph/recompute.ts';
import { rotation } from '../rope.ts';

export interface SequenceOptions {
  /** Keep only the input of a layer, and recompute the rest when its gradient is due. */
  readonly recompute?: boolean;
  /** Low-rank adapters by the module they change; their factors are parameters (`adapterNames`). */
  readonly adapters?: ReadonlyMap<string, { readonly scale: number }>;
  /** Rows hold several sequences, which do not see each other: inputs give each token's index in its own. */
  readonly packed?: boolean;
}

/** The factors of the adapter of a module: [r, in] and [out, r]. */
export function adapterNames(module: string): readonly [string, string] {
  return [`${module}.lora_A.weight`, `${module}.lora_B.weight`];
}

/**
 * The lowering, and the rows of the embedding that it read: their gradient is the embedding's, row by row.
 */
export interface SequenceLowering extends Lowering<Value> {
  readonly embedded: Value;
}

/**
 * Adds the inputs `tokens` int32 [B, T] and `rows` int32 [M]: the places in the flattened [B * T] that are
 * asked for, without repeats. `parameters` holds every name of `parameterShapes`; the embedding counts as a
 * constant to differentiation, and so is reached through `embedded` alone. `head` gives logits [M, V].
 *
 * `packed` adds `places` int32 [B, T], the place of each token in its sequence, and `segments` int32 [B, T],
 * the number of that sequence in its row.
 */
export function sequenceLowering(
  graph: Graph,
  config: DecoderConfig,
  parameters: ReadonlyMap<string, Value>,
  options: SequenceOptions = {},
): SequenceLowering {
  const tokens = graph.input('tokens', 'int32', ['B', 'T']);
  const rows = graph.input('rows', 'int32', ['M']);
  const parameter = (name: string) => {
    const value = parameters.get(name);
    if (value === undefined) throw new Error(`the decoder needs a parameter '${name}'`);
    return value;
  };
  const { kvHeads, rmsEps } = config;
  const folds = config.heads / kvHeads;
  const width = headDim(config);
  const places = graph.node('Range', [scalar(graph, 0), length(graph), scalar(graph, 1)], ['T']);
  const packed = options.packed === true;
  const [cosines, sines] = packed
    ? packedRotations(graph, config, graph.input('places', 'int32', ['B', 'T']))
    : rotations(graph, config, places);
  const mask = packed
    ? packedMask(graph, folds, places, graph.input('segments', 'int32', ['B', 'T']))
    : causalMask(graph, folds, places);
  const leaves = [...parameters.values()];
  const table = parameter('model.embed_tokens.weight');
  const embedded = graph.node('Gather', [table, reshape(tokens, ['N'])], ['N', config.hiddenSize]);

  const sum = ({ stream, delta }: Residual) => (delta === null ? stream : add(stream, delta));
  const project = (x: Value, name: string) => {
    const weight = parameter(`${name}.weight`);
    const full = linear(x, weight, parameters.get(`${name}.bias`) ?? null);
    const adapter = options.adapters?.get(name);
    if (adapter === undefined) return full;
    const [down, up] = adapterNames(name).map(parameter) as [Value, Value];
    return adapt(full, x, down, up, adapter.scale);
  };

  return {
    embedded,
    embed: () => embedded,
    layer(input, body) {
      if (!options.recompute) return body(input);
      const one = (x: Value) => sum(body({ stream: x, delta: null }));
      return { stream: recomputed(sum(input), leaves, one), delta: null };
    },
    norm(input, weight) {
      const stream = sum(input);
      return { normed: rmsNorm(stream, parameter(weight), rmsEps), stream };
    },
    project: (x, names) => names.map((name) => project(x, name)),
    byHead: (x, heads) => transpose(reshape(x, ['B', 'T', heads, width]), [0, 2, 1, 3]),
    headNorm: (x, weight) => rmsNorm(x, parameter(weight), rmsEps),
    rotate: (x) => rotate(x, cosines, sines),
    attend(_layer, queries, keys, values) {
      const folded = reshape(queries, ['B', kvHeads, 'GT', width]);
      const mixed = attention(folded, keys, values, mask);
      const unfolded = transpose(reshape(mixed, ['B', config.heads, 'T', width]), [0, 2, 1, 3]);
      return reshape(unfolded, ['N', config.heads * width]);
    },
    gated: swiglu,
    pick: ({ stream, delta }) => ({
      stream: pickRows(stream, rows),
      delta: delta && pickRows(delta, rows),
    }),
    head: (x, weight) => linear(x, parameter(weight), null),
  };
}

/** A whole number of rank 0. */
function scalar(graph: Graph, value: number): Value {
  return graph.node('Squeeze', [graph.integers([value])], []);
}

/** T as a number of rank 0. */
function length(graph: Graph): Value {
  return graph.node('Squeeze', [graph.size('T')], []);
}

/** Cosines and sines of place * frequency, times the rotation's factor: [T, headDim / 2] each. */
function rotations(graph: Graph, config: DecoderConfig, places: Value): [Value, Value] {
  const real = inReals(graph, places);
  return turned(graph, config, graph.node('Unsqueeze', [real, graph.integers([1])], ['T', 1]));
}

/** The same if each row has its own places [B, T]: [B, 1, T, headDim / 2] each. */
function packedRotations(graph: Graph, config: DecoderConfig, places: Value): [Value, Value] {
  const axes = graph.integers([1, 3]);
  const column = graph.node('Unsqueeze', [inReals(graph, places), axes], ['B', 1, 'T', 1]);
  return turned(graph, config, column);
}

function inReals(graph: Graph, whole: Value): Value {
  const to = graph.float === 'float32' ? 1 : 11;
  return graph.node('Cast', [whole], whole.shape, { type: graph.float, attributes: { to } });
}

/** Places [..., 1] in, [..., headDim / 2] out. */
function turned(graph: Graph, config: DecoderConfig, column: Value): [Value, Value] {
  const { frequencies, factor } = rotation(config);
  const shape: Shape = [...column.shape.slice(0, -1), frequencies.length];
  const angles = graph.node('Mul', [column, graph.reals(frequencies)], shape);
  const of = (op: string, name: string) => {
    const plain = graph.node(op, [angles], shape, { name });
    return factor === 1 ? plain : graph.node('Mul', [plain, graph.scalar(factor)], shape);
  };
  return [of('Cos', 'cosines'), of('Sin', 'sines')];
}

/**
 * 0 where a query may see a key, -Infinity where the key comes later, repeated for each folded head: [G * T,
 * T].
 */
function causalMask(graph: Graph, folds: number, places: Value): Value {
  const column = graph.node('Unsqueeze', [places, graph.integers([1])], ['T', 1]);
  const later = graph.node('Greater', [places, column], ['T', 'T'], { type: 'bool' });
  const inputs = [later, graph.scalar(Number.NEGATIVE_INFINITY), graph.scalar(0)];
  const mask = graph.node('Where', inputs, ['T', 'T'], { type: graph.float });
  const folded = graph.node('Expand', [mask, graph.sizes([folds, 'T', 'T'])], [folds, 'T', 'T']);
  return reshape(folded, ['GT', 'T']);
}

/** The same for packed rows, where a key of another sequence is not seen either: [B, 1, G * T, T]. */
function packedMask(graph: Graph, folds: number, places: Value, segments: Value): Value {
  const bool = { type: 'bool' } as const;
  const all: Shape = ['B', 'T', 'T'];
  const column = graph.node('Unsqueeze', [places, graph.integers([1])], ['T', 1]);
  const earlier = graph.node('LessOrEqual', [places, column], ['T', 'T'], bool);
  const queries = graph.node('Unsqueeze', [segments, graph.integers([2])], ['B', 'T', 1]);
  const keys = graph.node('Unsqueeze', [segments, graph.integers([1])], ['B', 1, 'T']);
  const same = graph.node('Equal', [queries, keys], all, bool);
  const seen = graph.node('And', [same, earlier], all, bool);
  const inputs = [seen, graph.scalar(0), graph.scalar(Number.NEGATIVE_INFINITY)];
  const mask = graph.node('Where', inputs, all, { type: graph.float });
  const wide = graph.node('Unsqueeze', [mask, graph.integers([1])], ['B', 1, 'T', 'T']);
  const shape: Shape = ['B', folds, 'T', 'T'];
  const folded = graph.node('Expand', [wide, graph.sizes(shape)], shape);
  return reshape(folded, ['B', 1, 'GT', 'T']);
}
