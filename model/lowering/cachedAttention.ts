/**
 * Attention over a cache: softmax over the position itself and the places before it, always in that order.
 *
 * The order is the same in both passes: the position itself first, then every earlier one at its place in the cache.
 * (Prefill therefore puts its new keys and values into their places before it attends.) Places beyond the context
 * are worth exactly 0, so the cache's capacity cannot be seen in a result.
 */
import type { Graph, Shape, Value } from '../graph/graph.ts';
import { reshape } from '../graph/ops.ts';

/** What the layers of one pass share. */
export interface CachePass {
  readonly graph: Graph;
  readonly heads: number;
  readonly kvHeads: number;
  readonly headDim: number;
  /** Tokens a row: the number 1 in decode. */
  readonly width: 1 | 'T';
  /** 0 or -Infinity, as the place in the cache is before the position or not: [B, 1, T, 1, S], or [B, 1, 1, S]. */
  readonly mask: Value;
  /** int64 [B, KV, T, 3] in prefill: where in the cache a new row belongs. */
  readonly places: Value | null;
}

/**
 * Queries [B, T, heads * D], keys and values [B, T, KV * D] to [B, T, heads * D]. Adds the inputs `keys.i` and
 * `values.i` and the outputs `newKeys.i` and `newValues.i` of the layer.
 */
export function cachedAttention(
  pass: CachePass,
  layer: number,
  q: Value,
  k: Value,
  v: Value,
): Value {
  const { graph, heads, kvHeads, headDim, width } = pass;
  const queries = byHead(pass, q, heads / kvHeads);
  const keys = byHead(pass, k, 1);
  const values = byHead(pass, v, 1);
  const flat: Shape = ['B', kvHeads, width, headDim];
  graph.output(`newKeys.${layer}`, reshape(keys, flat));
  graph.output(`newValues.${layer}`, reshape(values, flat));
  const mixed = attention(pass, queries, keys, values, layer);
  const joined =
    width === 1
      ? mixed
      : graph.node('Transpose', [mixed], ['B', 'T', kvHeads, heads / kvHeads, headDim], {
          attributes: { perm: [0, 2, 1, 3, 4] },
        });
  return reshape(joined, ['B', width, heads * headDim]);
}

/** [B, T, KV * count * D] to [B, KV, T, count, D]; in decode [B, KV, count, D]. */
function byHead({ graph, kvHeads, headDim, width }: CachePass, x: Value, count: number): Value {
  if (width === 1) return reshape(x, ['B', kvHeads, count, headDim]);
  const split = reshape(x, ['B', 'T', kvHeads, count, headDim]);
  const shape = ['B', kvHeads, 'T', count, headDim];
  return graph.node('Transpose', [split], shape, { attributes: { perm: [0, 2, 1, 3, 4] } });
}

/** `queries` [..., G, D], `keys` and `values` [..., 1, D], where ... is [B, KV, T], in decode [B, KV]. */
function attention(
  pass: CachePass,
  queries: Value,
  keys: Value,
  values: Value,
  layer: number,
): Value {
  const { graph, mask, headDim } = pass;
  const lead = queries.shape.slice(0, -1);
  const options = {
    domain: 'com.microsoft',
    attributes: { transB: 1, alpha: { float: 1 / Math.sqrt(headDim) } },
  };
  const cachedKeys = placed(pass, `keys.${layer}`, keys);
  const cachedValues = placed(pass, `values.${layer}`, values);
  const own = graph.node('FusedMatMul', [queries, keys], [...lead, 1], options);
  const inputs = [perHead(pass, queries), cachedKeys];
  const raw = graph.node('FusedMatMul', inputs, perHeadShape(pass, 'S'), options);
  const scores = graph.node('Add', [unfolded(pass, raw, [...lead, 'S']), mask], [...lead, 'S']);
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
  const mixed = [perHead(pass, oldShares), cachedValues];
  const old = graph.node('MatMul', mixed, perHeadShape(pass, headDim));
  const fresh = graph.node('Mul', [ownShare, values], queries.shape);
  return graph.node('Add', [unfolded(pass, old, queries.shape), fresh], queries.shape);
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

/**
 * [B, KV, T, G, x] as one matrix a key head, [B, KV, T * G, x]. A product with a matrix of one row is summed in
 * another order than with several, so a single query is doubled.
 */
function perHead(pass: CachePass, x: Value): Value {
  const shape = perHeadShape(pass, x.shape.at(-1) ?? 'S');
  if (pass.width !== 1) return reshape(x, shape);
  if (!single(pass)) return x;
  return pass.graph.node('Concat', [x, x], shape, { attributes: { axis: -2 } });
}

/** The inverse of `perHead`. */
function unfolded(pass: CachePass, x: Value, shape: Shape): Value {
  if (pass.width !== 1) return reshape(x, shape);
  if (!single(pass)) return x;
  const options = { attributes: { axis: -2, num_outputs: 2 } };
  return pass.graph.nodes('Split', [x], [shape, shape], options)[0] as Value;
}

function single({ width, heads, kvHeads }: CachePass): boolean {
  return width === 1 && heads === kvHeads;
}

function perHeadShape({ heads, kvHeads, width }: CachePass, last: number | string): Shape {
  const rows = width === 1 ? Math.max(2, heads / kvHeads) : 'TG';
  return ['B', kvHeads, rows, last];
}

/** The cache with the new rows in their places; in decode the position itself is left out. */
function placed(pass: CachePass, name: string, fresh: Value): Value {
  const { graph, kvHeads, headDim, places } = pass;
  const cache = graph.input(name, 'float32', ['B', kvHeads, 'S', headDim]);
  if (!places) return cache;
  const rows = reshape(fresh, ['B', kvHeads, 'T', headDim]);
  return graph.node('ScatterND', [cache, places, rows], cache.shape);
}
