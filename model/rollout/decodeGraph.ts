/**
 * The policy's network lowered for generation: the same parameters as the training graph, fewer and fatter nodes.
 *
 * Two graphs read the cache: `decode` takes one token a row and says how probable each next one is; `prefill` takes several given
 * tokens a row and says nothing. Both compute a position's attention in the same order, whoever runs it:
 * the position itself first, then every earlier one at its place in the cache. (Prefill therefore puts its new
 * keys and values into their places before it attends.) With places beyond the context worth exactly 0, and the
 * weights fixed in the session, a position's result does not depend on how the context was cut up.
 */
import { type DecoderConfig, headDim } from '../config.ts';
import { Graph, type Shape, type Value } from '../graph/graph.ts';
import { reshape } from '../graph/ops.ts';
import type { PackedWeights } from './packWeights.ts';

export type Pass = 'decode' | 'prefill';

/**
 * The bytes of a graph. Inputs: `tokens` and `positions` int32 [B, T]; `slots` int32 [S] (0, 1, ...); per layer
 * `keys.i` and `values.i` [B, KV, S, headDim]; in prefill `places` int32 [B, KV, T, 3], where in the cache a
 * new row belongs (batch row, head, position). Outputs: per layer `newKeys.i` and `newValues.i`
 * [B, KV, T, headDim]; in decode `shares` [B, V], the softmax of the logits.
 */
export function decodeGraph(config: DecoderConfig, weights: PackedWeights, pass: Pass): Uint8Array {
  const graph = new Graph('float32');
  const net = begin(graph, config, weights, pass);
  let x = net.x;
  let skip: Value | null = null;
  for (let layer = 0; layer < config.layers; layer++) {
    const first = norm(net, x, skip, `${layer}.inputNorm`);
    const attended = attend(net, first.normed, layer);
    if (pass === 'prefill' && layer === config.layers - 1) break;
    const second = norm(net, attended, first.sum, `${layer}.middleNorm`);
    x = feedForward(net, second.normed, layer);
    skip = second.sum;
  }
  if (pass === 'decode') {
    const { normed } = norm(net, x, skip, 'norm');
    const logits = linear(net, normed, 'head', config.vocabSize);
    const options = { attributes: { axis: -1 } };
    graph.output('shares', graph.node('Softmax', [logits], logits.shape, options));
  }
  return graph.model();
}

interface Net {
  readonly graph: Graph;
  readonly config: DecoderConfig;
  readonly weights: PackedWeights;
  /** T: the number 1 in decode. */
  readonly width: 1 | 'T';
  /** [B, T, hidden]. */
  readonly x: Value;
  /** int64 [B, T]. */
  readonly positions: Value;
  /** 0 or -Infinity, as the place in the cache is before the position or not: [B, 1, T, 1, S], or [B, 1, 1, S]. */
  readonly mask: Value;
  /** int64 [B, KV, T, 3] in prefill. */
  readonly places: Value | null;
}

function begin(graph: Graph, config: DecoderConfig, weights: PackedWeights, pass: Pass): Net {
  const width = pass === 'decode' ? 1 : 'T';
  const tokens = graph.input('tokens', 'int32', ['B', width]);
  const positions = graph.input('positions', 'int32', ['B', width]);
  const slots = graph.input('slots', 'int32', ['S']);
  const places =
    pass === 'prefill' ? graph.input('places', 'int32', ['B', config.kvHeads, 'T', 3]) : null;
  const column: Shape = pass === 'decode' ? ['B', 1, 1, 1] : ['B', 1, 'T', 1, 1];
  const maskShape = [...column.slice(0, -1), 'S'];
  const spread = graph.node('Reshape', [positions, graph.sizes(column)], column);
  const hidden = graph.node('GreaterOrEqual', [slots, spread], maskShape, { type: 'bool' });
  const bounds = [graph.scalar(Number.NEGATIVE_INFINITY), graph.scalar(0)];
  return {
    graph,
    config,
    weights,
    width,
    x: graph.node(
      'Gather',
      [parameter(graph, weights, 'embedding'), tokens],
      ['B', width, config.hiddenSize],
      { type: 'float32' },
    ),
    positions: wide(graph, positions),
    mask: graph.node('Where', [hidden, ...bounds], maskShape, { type: 'float32' }),
    places: places && wide(graph, places),
  };
}

function wide(graph: Graph, value: Value): Value {
  return graph.node('Cast', [value], value.shape, { type: 'int64', attributes: { to: 7 } });
}

function parameter(graph: Graph, weights: PackedWeights, name: string): Value {
  return graph.share(`parameter:${name}`, () => {
    const part = weights.parts.get(name);
    if (!part) throw new Error(`no packed weight is called '${name}'`);
    return graph.initialiser(name, 'float32', part.shape, {
      location: weights.location,
      offset: part.offset,
      bytes: part.bytes,
    });
  });
}

/** RMS norm of x + skip, and that sum. */
function norm(net: Net, x: Value, skip: Value | null, name: string): { normed: Value; sum: Value } {
  const { graph, config, weights } = net;
  const weight = parameter(graph, weights, name);
  const attributes = { epsilon: { float: config.rmsEps } };
  if (skip === null) {
    const options = { attributes: { ...attributes, axis: -1 } };
    return {
      normed: graph.node('SimplifiedLayerNormalization', [x, weight], x.shape, options),
      sum: x,
    };
  }
  const [normed, , , sum] = graph.nodes(
    'SkipSimplifiedLayerNormalization',
    [x, skip, weight],
    [x.shape, [], [], x.shape],
    { domain: 'com.microsoft', attributes },
  ) as [Value, Value, Value, Value];
  return { normed, sum };
}

/** x [B, T, in] to [B, T, out], with the packed weight [out, in] and bias (if there is one) of this name. */
function linear(net: Net, x: Value, name: string, out: number): Value {
  const { graph, weights, width } = net;
  const weight = parameter(graph, weights, name);
  const bias = weights.parts.has(`${name}.bias`) ? [parameter(graph, weights, `${name}.bias`)] : [];
  const flat = reshape(x, ['N', Number(x.shape.at(-1))]);
  const product = graph.node('Gemm', [flat, weight, ...bias], ['N', out], {
    attributes: { transB: 1 },
  });
  return name === 'head' ? product : reshape(product, ['B', width, out]);
}

function feedForward(net: Net, x: Value, layer: number): Value {
  const { graph, config, width } = net;
  const size = config.intermediateSize;
  const both = linear(net, x, `${layer}.gateUp`, 2 * size);
  const half: Shape = ['B', width, size];
  const [gate, up] = cut(both, [size, size]) as [Value, Value];
  const silu = graph.node('QuickGelu', [gate], half, {
    domain: 'com.microsoft',
    attributes: { alpha: { float: 1 } },
  });
  return linear(net, graph.node('Mul', [silu, up], half), `${layer}.down`, config.hiddenSize);
}

/** Split the last axis. */
function cut(x: Value, sizes: readonly number[]): readonly Value[] {
  const { graph } = x;
  const shapes = sizes.map((size) => [...x.shape.slice(0, -1), size]);
  return graph.nodes('Split', [x, graph.integers(sizes)], shapes, { attributes: { axis: -1 } });
}

function attend(net: Net, x: Value, layer: number): Value {
  const { graph, config, weights, positions, width } = net;
  const { heads, kvHeads } = config;
  const size = headDim(config);
  const projected = linear(net, x, `${layer}.qkv`, (heads + 2 * kvHeads) * size);
  const [turning, v] = cut(projected, [(heads + kvHeads) * size, kvHeads * size]) as [Value, Value];
  const tables = [parameter(graph, weights, 'cosines'), parameter(graph, weights, 'sines')];
  const turned = graph.node('RotaryEmbedding', [turning, positions, ...tables], turning.shape, {
    domain: 'com.microsoft',
  });
  const [q, k] = cut(turned, [heads * size, kvHeads * size]) as [Value, Value];
  const queries = byHead(net, q, heads / kvHeads);
  const keys = byHead(net, k, 1);
  const values = byHead(net, v, 1);
  const flat: Shape = ['B', kvHeads, width, size];
  graph.output(`newKeys.${layer}`, reshape(keys, flat));
  graph.output(`newValues.${layer}`, reshape(values, flat));
  const mixed = attention(net, queries, keys, values, layer);
  const joined =
    width === 1
      ? mixed
      : graph.node('Transpose', [mixed], ['B', 'T', kvHeads, heads / kvHeads, size], {
          attributes: { perm: [0, 2, 1, 3, 4] },
        });
  return linear(
    net,
    reshape(joined, ['B', width, heads * size]),
    `${layer}.output`,
    config.hiddenSize,
  );
}

/** [B, T, KV * count * D] to [B, KV, T, count, D]; in decode [B, KV, count, D]. */
function byHead(net: Net, x: Value, count: number): Value {
  const { kvHeads } = net.config;
  const size = headDim(net.config);
  if (net.width === 1) return reshape(x, ['B', kvHeads, count, size]);
  const split = reshape(x, ['B', 'T', kvHeads, count, size]);
  const shape = ['B', kvHeads, 'T', count, size];
  return net.graph.node('Transpose', [split], shape, { attributes: { perm: [0, 2, 1, 3, 4] } });
}

/**
 * Softmax attention over the position itself and the places before it. `queries` [..., G, D], `keys` and `values`
 * [..., 1, D], where ... is [B, KV, T], in decode [B, KV].
 */
function attention(net: Net, queries: Value, keys: Value, values: Value, layer: number): Value {
  const { graph, mask } = net;
  const size = headDim(net.config);
  const lead = queries.shape.slice(0, -1);
  const options = {
    domain: 'com.microsoft',
    attributes: { transB: 1, alpha: { float: 1 / Math.sqrt(size) } },
  };
  const cachedKeys = placed(net, `keys.${layer}`, keys);
  const cachedValues = placed(net, `values.${layer}`, values);
  const own = graph.node('FusedMatMul', [queries, keys], [...lead, 1], options);
  const raw = graph.node(
    'FusedMatMul',
    [perHead(net, queries), cachedKeys],
    perHeadShape(net, 'S'),
    options,
  );
  const scores = graph.node('Add', [unfolded(net, raw, [...lead, 'S']), mask], [...lead, 'S']);
  const all = graph.node('Concat', [own, scores], [...lead, 'S+1'], { attributes: { axis: -1 } });
  const shares = graph.node('Softmax', [all], all.shape, { attributes: { axis: -1 } });
  const sizes = graph.share('sizes:own', () =>
    graph.node('Concat', [graph.integers([1]), graph.size('S')], [2], {
      type: 'int64',
      attributes: { axis: 0 },
    }),
  );
  const [ownShare, oldShares] = graph.nodes(
    'Split',
    [shares, sizes],
    [
      [...lead, 1],
      [...lead, 'S'],
    ],
    {
      attributes: { axis: -1 },
    },
  ) as [Value, Value];
  const old = graph.node(
    'MatMul',
    [perHead(net, oldShares), cachedValues],
    perHeadShape(net, size),
  );
  const fresh = graph.node('Mul', [ownShare, values], queries.shape);
  return graph.node('Add', [unfolded(net, old, queries.shape), fresh], queries.shape);
}

/**
 * [B, KV, T, G, x] as one matrix a key head, [B, KV, T * G, x]. A product with a matrix of one row is summed in
 * another order than with several, so a single query is doubled.
 */
function perHead(net: Net, x: Value): Value {
  const shape = perHeadShape(net, x.shape.at(-1) ?? 'S');
  if (net.width !== 1) return reshape(x, shape);
  if (!single(net)) return x;
  return net.graph.node('Concat', [x, x], shape, { attributes: { axis: -2 } });
}

/** The inverse of `perHead`. */
function unfolded(net: Net, x: Value, shape: Shape): Value {
  if (net.width !== 1) return reshape(x, shape);
  if (!single(net)) return x;
  const options = { attributes: { axis: -2, num_outputs: 2 } };
  return net.graph.nodes('Split', [x], [shape, shape], options)[0] as Value;
}

function single({ width, config }: Net): boolean {
  return width === 1 && config.heads === config.kvHeads;
}

function perHeadShape(net: Net, last: number | string): Shape {
  const { heads, kvHeads } = net.config;
  const rows = net.width === 1 ? Math.max(2, heads / kvHeads) : 'TG';
  return ['B', kvHeads, rows, last];
}

/** The cache with the new rows in their places; in decode the position itself is left out. */
function placed(net: Net, name: string, fresh: Value): Value {
  const { graph, config, places } = net;
  const size = headDim(config);
  const cache = graph.input(name, 'float32', ['B', config.kvHeads, 'S', size]);
  if (!places) return cache;
  const rows = reshape(fresh, ['B', config.kvHeads, 'T', size]);
  return graph.node('ScatterND', [cache, places, rows], cache.shape);
}
