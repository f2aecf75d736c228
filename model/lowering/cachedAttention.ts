/**
 * Attention over a cache: softmax over the position itself and the places before it, always in that order.
 *
 * The order is the same for one token a row and for several: the position itself first, then every earlier
 * one at its place in the cache. (Several are therefore put into their places before they attend.) Places
 * beyond the context are worth exactly 0, so the cache's capacity cannot be seen in a result.
 */
import type { Graph, Shape, Value } from '../graph/graph.ts';
import { reshape } from '../graph/ops.ts';

/** What the layers share. */
export interface CachePass {
  readonly graph: Graph;
  readonly heads: number;
  readonly kvHeads: number;
  readonly headDim: number;
  /** One bool: there is one token a row, and none before it in this run. */
  readonly single: Value;
  /** 0 or -Infinity, as the place in the cache is before the position or not: [B, 1, T, 1, S]. */
  readonly mask: Value;
  /** int64 [B, KV, T, 3], read if there are several tokens a row: where in the cache a new row belongs. */
  readonly places: Value;
}

/** What attention reads. */
export interface Attended {
  /** [B, KV, T, G, D]. */
  readonly queries: Value;
  /** [B, KV, T, 1, D]. */
  readonly keys: Value;
  readonly values: Value;
  /** The cache as fed, [B, KV, S, D]. */
  readonly oldKeys: Value;
  readonly oldValues: Value;
}

/**
 * Queries [B, T, heads * D], keys and values [B, T, KV * D] by head. Adds the inputs `keys.i` and `values.i`
 * and the outputs `newKeys.i` and `newValues.i` of the layer.
 */
export function attended(pass: CachePass, layer: number, q: Value, k: Value, v: Value): Attended {
  const { graph, heads, kvHeads, headDim } = pass;
  const keys = byHead(pass, k, 1);
  const values = byHead(pass, v, 1);
  const flat: Shape = ['B', kvHeads, 'T', headDim];
  graph.output(`newKeys.${layer}`, reshape(keys, flat));
  graph.output(`newValues.${layer}`, reshape(values, flat));
  const cache = (name: string) =>
    graph.input(`${name}.${layer}`, 'float32', ['B', kvHeads, 'S', headDim]);
  const [oldKeys, oldValues] = [cache('keys'), cache('values')];
  return { queries: byHead(pass, q, heads / kvHeads), keys, values, oldKeys, oldValues };
}

/** Attention of one token per row or of several, depending on the run: [B, T, heads * D]. */
export function cachedAttention(pass: CachePass, inputs: Attended): Value {
  const { graph, single } = pass;
  const closeOne = graph.branch();
  const one = closeOne([attentionOfOne(pass, inputs)]);
  const closeMany = graph.branch();
  const many = closeMany([attentionOfMany(pass, inputs)]);
  return graph.either(single, one, many)[0] as Value;
}

/** For one token per row: reads the cache in place. */
export function attentionOfOne(pass: CachePass, inputs: Attended): Value {
  // a product with a one-row matrix is summed in another order than with several, so a single query is
  // doubled
  const doubled = pass.heads === pass.kvHeads;
  return attention(pass, inputs, doubled);
}

/** For several: the new keys and values are stored first, for the tokens after them. */
function attentionOfMany(pass: CachePass, inputs: Attended): Value {
  const { graph, places, kvHeads, headDim } = pass;
  const placed = (cache: Value, fresh: Value) => {
    const rows = reshape(fresh, ['B', kvHeads, 'T', headDim]);
    return graph.node('ScatterND', [cache, places, rows], cache.shape);
  };
  const oldKeys = placed(inputs.oldKeys, inputs.keys);
  const oldValues = placed(inputs.oldValues, inputs.values);
  return attention(pass, { ...inputs, oldKeys, oldValues }, false);
}

/** [B, T, KV * count * D] to [B, KV, T, count, D]. */
function byHead({ graph, kvHeads, headDim }: CachePass, x: Value, count: number): Value {
  const split = reshape(x, ['B', 'T', kvHeads, count, headDim]);
  const shape = ['B', kvHeads, 'T', count, headDim];
  return graph.node('Transpose', [split], shape, { attributes: { perm: [0, 2, 1, 3, 4] } });
}

function attention(pass: CachePass, inputs: Attended, doubled: boolean): Value {
  const { graph, mask, headDim, heads, kvHeads } = pass;
  const { queries, keys, values, oldKeys, oldValues } = inputs;
  const lead = queries.shape.slice(0, -1);
  const options = {
    domain: 'com.microsoft',
    attributes: { transB: 1, alpha: { float: 1 / Math.sqrt(headDim) } },
  };
  const own = graph.node('FusedMatMul', [queries, keys], [...lead, 1], options);
  const flat = perHead(pass, queries, doubled);
  const rows = flat.shape.slice(0, -1);
  const raw = graph.node('FusedMatMul', [flat, oldKeys], [...rows, 'S'], options);
  const scores = graph.node(
    'Add',
    [unfolded(graph, raw, [...lead, 'S'], doubled), mask],
    [...lead, 'S'],
  );
  const all = graph.node('Concat', [own, scores], [...lead, 'S+1'], { attributes: { axis: -1 } });
  const shares = graph.node('Softmax', [all], all.shape, { attributes: { axis: -1 } });
  const [ownShare, oldShares] = graph.nodes(
    'Split',
    [shares, oneAndRest(graph)],
    [
      [...lead, 1],
      [...lead, 'S'],
    ],
    { attributes: { axis: -1 } },
  ) as [Value, Value];
  const mixed = [perHead(pass, oldShares, doubled), oldValues];
  const old = graph.node('MatMul', mixed, [...rows, headDim]);
  const fresh = graph.node('Mul', [ownShare, values], queries.shape);
  const sum = graph.node(
    'Add',
    [unfolded(graph, old, queries.shape, doubled), fresh],
    queries.shape,
  );
  const back = { attributes: { perm: [0, 2, 1, 3, 4] } };
  const joined = graph.node(
    'Transpose',
    [sum],
    ['B', 'T', kvHeads, heads / kvHeads, headDim],
    back,
  );
  return reshape(joined, ['B', 'T', heads * headDim]);
}

/** The sizes [1, S]. */
function oneAndRest(graph: Graph): Value {
  return graph.share('sizes:own', () =>
    graph.node('Concat', [graph.integers([1]), graph.size('S')], [2], {
      type: 'int64',
      attributes: { axis: 0 },
    }),
  );
}

/** [B, KV, T, G, x] as one matrix per key head, [B, KV, T * G, x]; with every row twice if `doubled`. */
function perHead({ graph, kvHeads }: CachePass, x: Value, doubled: boolean): Value {
  const shape: Shape = ['B', kvHeads, 'TG', x.shape.at(-1) ?? 'S'];
  const flat = reshape(x, shape);
  return doubled ? graph.node('Concat', [flat, flat], shape, { attributes: { axis: -2 } }) : flat;
}

/** The inverse of `perHead`. */
function unfolded(graph: Graph, x: Value, shape: Shape, doubled: boolean): Value {
  if (!doubled) return reshape(x, shape);
  const options = { attributes: { axis: -2, num_outputs: 2 } };
  const half = graph.nodes('Split', [x], [x.shape, x.shape], options)[0] as Value;
  return reshape(half, shape);
}
