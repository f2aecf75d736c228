/**
 * The network over a cache of keys and values, for generation: the same parameters, fewer and fatter nodes.
 *
 * One graph for both uses, so that weights are packed once: with one token a row (decode) it says how
 * probable each next one is; with several given ones (prefill) it ends with the last layer's keys and values.
 * Either way a position's attention is computed in the same order (cachedAttention.ts). With the weights
 * fixed in the session, a position's result does not depend on how the context was cut up, nor on the rows
 * with it.
 */
import { type DecoderConfig, headDim, type Tensor } from '../config.ts';
import { decoder, type Lowering } from '../decoder.ts';
import { type Branch, Graph, type Shape, type Value } from '../graph/graph.ts';
import { reshape } from '../graph/ops.ts';
import { rotation } from '../rope.ts';
import { attended, attentionOfOne, type CachePass, cachedAttention } from './cachedAttention.ts';
import { BLOCK_SIZE } from './eightBits.ts';
import type { Part, WeightPlan } from './weightPlan.ts';

/** What the products of a pass compute with: weights as they are, or in 8 bits (eightBits.ts). */
export type WeightBits = 'float32' | 'int8';

export interface CachedGraphOptions {
  readonly positionsMax: number;
  readonly bits: WeightBits;
}

/**
 * The graph, to be written once the plan is filled. Inputs: `tokens` and `positions` int32 [B, T]; `slots`
 * int32 [S] (0, 1, ...); per layer `keys.i` and `values.i` [B, KV, S, headDim]; `places` int32 [B, KV, T, 3],
 * where in the cache a new row belongs (batch row, head, position). Outputs: per layer `newKeys.i` and
 * `newValues.i` [B, KV, T, headDim]; `shares` [B, V], the softmax of the logits, and `peaks` [B], the highest
 * of them. Positions are below `positionsMax`. Where T is 1 `places` is not read, and may be of other sizes;
 * if it is not, `shares` and `peaks` say nothing.
 */
export function cachedGraph(
  config: DecoderConfig,
  plan: WeightPlan,
  options: CachedGraphOptions,
): Graph {
  const graph = new Graph('float32');
  const { shares, peaks } = decoder(config, cachedLowering(graph, config, plan, options));
  graph.output('shares', shares);
  graph.output('peaks', peaks);
  return graph;
}

interface Prediction {
  readonly shares: Value;
  readonly peaks: Value;
}

function cachedLowering(
  graph: Graph,
  config: DecoderConfig,
  plan: WeightPlan,
  { positionsMax, bits }: CachedGraphOptions,
): Lowering<Prediction> {
  const size = headDim(config);
  const tokens = graph.input('tokens', 'int32', ['B', 'T']);
  const positions = graph.input('positions', 'int32', ['B', 'T']);
  const cache = cachePass(graph, config, positions);
  /**
   * From the last layer's attention on, everything is for the logits only: a branch that runs if they are
   * wanted.
   */
  let closeEnd: ((yields: readonly Value[]) => Branch) | null = null;
  const whole = wide(graph, positions);
  const weight = (names: readonly string[]) =>
    initialiser(graph, names.join('+'), plan.joined(names));
  const table = (which: 'cosines' | 'sines', of: (angle: number) => number) =>
    initialiser(
      graph,
      which,
      plan.fixed(which, () => rotary(config, positionsMax, of)),
    );
  const tables = () => [table('cosines', Math.cos), table('sines', Math.sin)];
  const epsilon = { epsilon: { float: config.rmsEps } };
  const rms = (x: Value, name: string) =>
    graph.node('SimplifiedLayerNormalization', [x, weight([name])], x.shape, {
      attributes: { ...epsilon, axis: -1 },
    });
  /** x [B, T, in] to [N, out]. */
  const product = (x: Value, names: readonly string[], biases: readonly string[]) => {
    const flat = reshape(x, ['N', Number(x.shape.at(-1))]);
    if (bits === 'int8') {
      const made = inEightBits(flat, names, plan);
      return biases.length > 0 ? graph.node('Add', [made, weight(biases)], made.shape) : made;
    }
    const matrix = weight(names);
    const inputs = [flat, matrix, ...(biases.length > 0 ? [weight(biases)] : [])];
    const shape = ['N', Number(matrix.shape[0])];
    return graph.node('Gemm', inputs, shape, { attributes: { transB: 1 } });
  };
  return {
    embed: (name) => graph.node('Gather', [weight([name]), tokens], ['B', 'T', config.hiddenSize]),
    layer: (input, body) => body(input),
    norm({ stream, delta }, name) {
      if (delta === null) return { normed: rms(stream, name), stream };
      const [normed, , , sum] = graph.nodes(
        'SkipSimplifiedLayerNormalization',
        [stream, delta, weight([name])],
        [stream.shape, [], [], stream.shape],
        { domain: 'com.microsoft', attributes: epsilon },
      ) as [Value, Value, Value, Value];
      return { normed, stream: sum };
    },
    project(x, names) {
      const biases = names.map((name) => `${name}.bias`).filter((name) => plan.has(name));
      if (biases.length > 0 && biases.length < names.length)
        throw new Error(`of ${names} only ${biases} have a bias, so they cannot be one product`);
      const weights = names.map((name) => `${name}.weight`);
      const outs = weights.map((name) => plan.joined([name]).shape[0] as number);
      const flat = product(x, weights, biases);
      const joined = reshape(flat, ['B', 'T', Number(flat.shape[1])]);
      return names.length === 1 ? [joined] : cut(joined, outs);
    },
    byHead: (x) => x,
    headNorm(x, name) {
      const split = reshape(x, ['B', 'T', Number(x.shape.at(-1)) / size, size]);
      return reshape(rms(split, name), x.shape);
    },
    rotate: (x) =>
      graph.node('RotaryEmbedding', [x, whole, ...tables()], x.shape, { domain: 'com.microsoft' }),
    attend(layer, queries, keys, values) {
      const inputs = attended(cache, layer, queries, keys, values);
      if (layer < config.layers - 1) return cachedAttention(cache, inputs);
      closeEnd = graph.branch();
      return attentionOfOne(cache, inputs);
    },
    gated(gate, up) {
      const options = { domain: 'com.microsoft', attributes: { alpha: { float: 1 } } };
      return graph.node(
        'Mul',
        [graph.node('QuickGelu', [gate], gate.shape, options), up],
        up.shape,
      );
    },
    pick: (input) => input,
    head(x, name) {
      const logits = product(x, [name], []);
      const options = { attributes: { axis: -1 } };
      const softmax = graph.node('Softmax', [logits], logits.shape, options);
      const flat = { attributes: { keepdims: 0 } };
      const highest = graph.node('ReduceMax', [logits, graph.integers([1])], ['N'], flat);
      const predicted = (closeEnd as NonNullable<typeof closeEnd>)([softmax, highest]);
      const closeNothing = graph.branch();
      const nothing = closeNothing([graph.reals([0], [1, 1]), graph.reals([0])]);
      const [shares, peaks] = graph.either(cache.single, predicted, nothing) as [Value, Value];
      return { shares, peaks };
    },
  };
}

function cachePass(graph: Graph, config: DecoderConfig, positions: Value): CachePass {
  const slots = graph.input('slots', 'int32', ['S']);
  const places = graph.input('places', 'int32', ['P', config.kvHeads, 'T', 3]);
  const column: Shape = ['B', 1, 'T', 1, 1];
  const maskShape = [...column.slice(0, -1), 'S'];
  const spread = graph.node('Reshape', [positions, graph.sizes(column)], column);
  const hidden = graph.node('GreaterOrEqual', [slots, spread], maskShape, { type: 'bool' });
  const bounds = [graph.scalar(Number.NEGATIVE_INFINITY), graph.scalar(0)];
  const width = [graph.size('T'), graph.integers([1])];
  return {
    graph,
    heads: config.heads,
    kvHeads: config.kvHeads,
    headDim: headDim(config),
    single: graph.node('Equal', width, [1], { type: 'bool' }),
    mask: graph.node('Where', [hidden, ...bounds], maskShape, { type: 'float32' }),
    places: wide(graph, places),
  };
}

function wide(graph: Graph, value: Value): Value {
  return graph.node('Cast', [value], value.shape, { type: 'int64', attributes: { to: 7 } });
}

function initialiser(
  graph: Graph,
  key: string,
  { shape, data }: Part,
  type: 'float32' | 'uint8' = 'float32',
): Value {
  return graph.share(`weight:${key}`, () => graph.initialiser(key, type, shape, data));
}

/** x [N, in] to [N, out]; x is rounded to 8 bits too, a block at a time. */
function inEightBits(x: Value, names: readonly string[], plan: WeightPlan): Value {
  const { graph } = x;
  const key = names.join('+');
  const { numbers, scales } = plan.eightBits(names);
  const [N, K] = [numbers.shape[0] as number, Number(x.shape[1])];
  const matrix = [
    initialiser(graph, `${key}.numbers`, numbers, 'uint8'),
    initialiser(graph, `${key}.scales`, scales),
  ];
  return graph.node('MatMulNBits', [x, ...matrix], ['N', N], {
    domain: 'com.microsoft',
    attributes: { K, N, bits: 8, block_size: BLOCK_SIZE, accuracy_level: 4 },
  });
}

/** Split the last axis. */
function cut(x: Value, sizes: readonly number[]): readonly Value[] {
  const { graph } = x;
  const shapes = sizes.map((size) => [...x.shape.slice(0, -1), size]);
  return graph.nodes('Split', [x, graph.integers(sizes)], shapes, { attributes: { axis: -1 } });
}

/**
 * [positions, headDim / 2]: a function of position * frequency, times the rotation's factor. The angles are
 * rounded as the sequences' graph rounds them: float32 position times float32 frequency.
 */
function rotary(config: DecoderConfig, positions: number, of: (angle: number) => number): Tensor {
  const { frequencies, factor } = rotation(config);
  const half = frequencies.length;
  const data = new Float32Array(positions * half);
  for (const [i, exact] of frequencies.entries()) {
    const frequency = Math.fround(exact);
    for (let p = 0; p < positions; p++)
      data[p * half + i] = factor * of(Math.fround(p * frequency));
  }
  return { shape: [positions, half], data };
}
