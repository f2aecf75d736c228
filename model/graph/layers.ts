/**
 * Differentiable layers of a decoder, each with a gradient written by hand if that is cheaper than the
 * gradients of its parts. Weights are [out, in], as in Hugging Face files.
 */
import type { Dim, Value } from './graph.ts';
import { add, flip, matmul, multiply, reduceSum, sumTo } from './ops.ts';
import { product, weightGradient } from './product.ts';

/** x [N, in] times weight [out, in] transposed, plus bias [out]. */
export function linear(x: Value, weight: Value, bias: Value | null): Value {
  const inputs = bias === null ? [x, weight] : [x, weight, bias];
  return x.graph.derive(product(x, weight, { turned: true, bias }), inputs, (g) => [
    product(g, weight),
    weightGradient(g, x),
    ...(bias === null ? [] : [reduceSum(g, [0], false)]),
  ]);
}

/**
 * full [N, out] plus scale * (x [N, in] down^T) up^T: a low-rank adapter, down [r, in], up [out, r] (Hu et
 * al., 2021).
 */
export function adapt(full: Value, x: Value, down: Value, up: Value, scale: number): Value {
  const inner = multiply(linear(x, down, null), x.graph.scalar(scale));
  return add(full, linear(inner, up, null));
}

/** x / sqrt(mean(x^2) + epsilon) * weight, over the last axis. */
export function rmsNorm(x: Value, weight: Value, epsilon: number): Value {
  const { graph } = x;
  const axis = x.shape.length - 1;
  const mean = (value: Value) =>
    graph.node('ReduceMean', [value, graph.integers([axis])], [...x.shape.slice(0, -1), 1]);
  const meanSquare = mean(multiply(x, x));
  const shifted = graph.node('Add', [meanSquare, graph.scalar(epsilon)], meanSquare.shape);
  const root = graph.node('Sqrt', [shifted], shifted.shape);
  const unit = graph.node('Div', [x, root], x.shape);
  const scaled = graph.node('Mul', [unit, weight], x.shape);
  return graph.derive(scaled, [x, weight], (g) => {
    const inner = graph.node('Mul', [g, weight], g.shape);
    const along = graph.node('Mul', [unit, mean(multiply(inner, unit))], x.shape);
    const across = graph.node('Sub', [inner, along], x.shape);
    return [graph.node('Div', [across, root], x.shape), sumTo(multiply(g, unit), weight.shape)];
  });
}

/** silu(gate) * up, with silu(x) = x * sigmoid(x). */
export function swiglu(gate: Value, up: Value): Value {
  const { graph, shape } = gate;
  const sigmoid = graph.node('Sigmoid', [gate], shape);
  const silu = graph.node('Mul', [gate, sigmoid], shape);
  const product = graph.node('Mul', [silu, up], shape);
  return graph.derive(product, [gate, up], (g) => {
    // up * silu' = up * (sigmoid + silu * (1 - sigmoid)) = product + sigmoid * (up - product)
    const rest = graph.node('Mul', [sigmoid, graph.node('Sub', [up, product], shape)], shape);
    const slope = graph.node('Add', [product, rest], shape);
    return [graph.node('Mul', [g, slope], shape), graph.node('Mul', [g, silu], shape)];
  });
}

/**
 * Rotary position: turn the pairs (x[i], x[i + half]) of the last axis by angles given as cosines and sines.
 */
export function rotate(x: Value, cosines: Value, sines: Value): Value {
  return x.graph.derive(turn(x, cosines, sines, 1), [x], (g) => [turn(g, cosines, sines, -1)]);
}

function turn(x: Value, cosines: Value, sines: Value, direction: 1 | -1): Value {
  const { graph } = x;
  const half = [...x.shape.slice(0, -1), Number(x.shape.at(-1)) / 2];
  const split = { attributes: { axis: -1, num_outputs: 2 } };
  const [a, b] = graph.nodes('Split', [x], [half, half], split) as [Value, Value];
  const [minus, plus] = direction === 1 ? ['Sub', 'Add'] : ['Add', 'Sub'];
  const combine = (op: string, left: Value, right: Value) =>
    graph.node(
      op,
      [graph.node('Mul', [left, cosines], half), graph.node('Mul', [right, sines], half)],
      half,
    );
  const turned = [combine(minus as string, a, b), combine(plus as string, b, a)];
  return graph.node('Concat', turned, x.shape, { attributes: { axis: -1 } });
}

/**
 * Scaled dot-product attention: softmax(scale * queries keys^T + mask) values.
 * queries [..., Q, d], keys and values [..., K, d], mask broadcasts to [..., Q, K].
 */
export function attention(queries: Value, keys: Value, values: Value, mask: Value): Value {
  const { graph } = queries;
  const scale = graph.scalar(1 / Math.sqrt(Number(queries.shape.at(-1))));
  const scaled = multiply(queries, scale);
  const scores = matmul(scaled, flip(keys));
  const masked = graph.node('Add', [scores, mask], scores.shape);
  const shares = graph.node('Softmax', [masked], scores.shape, { attributes: { axis: -1 } });
  const mixed = graph.node('MatMul', [shares, values], queries.shape);
  return graph.derive(mixed, [queries, keys, values], (g) => {
    // rows of (dShares . shares) sum to rows of (g . mixed), which are shorter
    const rowSum = reduceSum(multiply(g, mixed), [queries.shape.length - 1], true);
    const centred = graph.node('Sub', [matmul(g, flip(values)), rowSum], shares.shape);
    const dScores = multiply(shares, centred);
    // of two factors the narrower one is transposed: the runtime is twice as fast then
    return [
      multiply(matmul(dScores, keys), scale),
      flip(matmul(flip(scaled), dScores)),
      flip(matmul(flip(g), shares)),
    ];
  });
}

/** Rows of x [N, D] by `rows` (whole numbers [M], no repeats): [M, D]. */
export function pickRows(x: Value, rows: Value): Value {
  const { graph } = x;
  const [count, width] = [rows.shape[0] as Dim, x.shape[1] as Dim];
  return graph.derive(graph.node('Gather', [x, rows], [count, width]), [x], (g) => {
    const column = graph.node('Unsqueeze', [rows, graph.integers([1])], [count, 1]);
    const places = graph.node('Cast', [column], [count, 1], {
      type: 'int64',
      attributes: { to: 7 },
    });
    return [graph.node('ScatterND', [zeros(x), places, g], x.shape)];
  });
}

/** Zeros of x's shape. */
function zeros(x: Value): Value {
  const { graph } = x;
  const size = graph.node('Shape', [x], [x.shape.length], { type: 'int64' });
  return graph.node('Expand', [graph.scalar(0), size], x.shape);
}

/**
 * The model's judgement of given tokens: their log-probs [M], and the entropies [M] of its softmax, in nats.
 */
export interface Judged {
  readonly logProbs: Value;
  readonly entropies: Value;
}

/**
 * Log-probs of `targets` (whole numbers [M]) under softmax(logits [M, V]), and the entropies of that softmax.
 */
export function judgeTokens(logits: Value, targets: Value): Judged {
  const { graph, shape } = logits;
  const rows = shape[0] as Dim;
  const column = (x: Value) => graph.node('Unsqueeze', [x, graph.integers([1])], [rows, 1]);
  const all = graph.node('LogSoftmax', [logits], shape, { attributes: { axis: -1 } });
  const picked = graph.node('GatherElements', [all, column(targets)], [rows, 1], {
    attributes: { axis: 1 },
  });
  const logProbs = graph.node('Squeeze', [picked, graph.integers([1])], [rows]);
  const shares = graph.node('Exp', [all], shape);
  const surprise = reduceSum(graph.node('Mul', [shares, all], shape), [1], false);
  graph.derive(logProbs, [logits], (g) => {
    const spread = graph.node('Mul', [shares, graph.node('Neg', [column(g)], [rows, 1])], shape);
    const attributes = { axis: 1, reduction: 'add' };
    return [
      graph.node('ScatterElements', [spread, column(targets), column(g)], shape, { attributes }),
    ];
  });
  const entropies = graph.node('Neg', [surprise], [rows]);
  graph.derive(entropies, [logits], (g) => {
    // dH / dz = -share * (log share + H)
    const above = graph.node('Add', [all, column(entropies)], shape);
    const down = graph.node('Neg', [column(g)], [rows, 1]);
    return [graph.node('Mul', [graph.node('Mul', [shares, above], shape), down], shape)];
  });
  return { logProbs, entropies };
}
