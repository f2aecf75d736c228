/**
 * Matrix products of a layer and of its gradient, with the same bits on any number of threads.
 *
 * If the runtime would sum the products of few rows differently on other numbers of threads (`sharing.ts`),
 * the left factor is turned and given transposed: those sums are always the same. Many rows do not need it,
 * so the graph decides as it runs.
 */
import type { Dim, Value } from './graph.ts';
import { sharedByRows, sumsAsTransposed, sumsVary } from './sharing.ts';

export interface ProductOptions {
  /** `b` is [columns, inner]. */
  readonly turned?: boolean;
  /** [columns], added to each row. */
  readonly bias?: Value | null;
}

/** a [rows, inner] times b [inner, columns]. Not differentiable. */
export function product(a: Value, b: Value, options: ProductOptions = {}): Value {
  const { graph } = a;
  const { turned = false, bias = null } = options;
  const [rows, inner] = a.shape as [Dim, Dim];
  const columns = b.shape[turned ? 0 : 1] as Dim;
  const gemm = (left: Value, transA: number) =>
    graph.node('Gemm', bias === null ? [left, b] : [left, b, bias], [rows, columns], {
      attributes: { transA, transB: turned ? 1 : 0 },
    });
  const { threads } = graph;
  if (threads === null || !sumsVary(Number(columns), Number(inner), threads)) return gemm(a, 0);
  const few = fewRows(a, Number(columns));
  const closeTurned = graph.branch();
  const one = closeTurned([gemm(turn(a), 1)]);
  const closePlain = graph.branch();
  const other = closePlain([gemm(a, 0)]);
  return graph.either(few, one, other)[0] as Value;
}

/**
 * g [N, out] transposed times x [N, in]: the gradient of a weight [out, in].
 *
 * The runtime reads a transposed factor once for every stretch of columns of the result, so the narrower
 * factor is turned once beforehand. Each number is the same sum in the same order either way, to the bit.
 */
export function weightGradient(g: Value, x: Value): Value {
  const { graph } = g;
  const [out, width] = [Number(g.shape[1]), Number(x.shape[1])];
  const gemm = (a: Value, b: Value, transA: number, shape: Dim[]) =>
    graph.node('Gemm', [a, b], shape, { attributes: { transA } });
  const varies = sumsVary(Math.max(out, width), Number.POSITIVE_INFINITY, graph.threads ?? 1);
  if (varies) return gemm(g, x, 1, [out, width]);
  return out > width ? turn(gemm(turn(x), g, 0, [width, out])) : gemm(turn(g), x, 0, [out, width]);
}

/**
 * Whether there are so few rows that their columns may be divided among threads. A single row is summed in a
 * way of its own, independent of the threads; where turning would change that, it stays as it is.
 */
function fewRows(a: Value, columns: number): Value {
  const { graph } = a;
  const rows = a.shape[0] as Dim;
  const below = sharedByRows(columns);
  const least = sumsAsTransposed(columns) ? 2 : 1;
  return graph.share(`few:${rows}:${least}:${below}`, () => {
    const attributes = { start: 0, end: 1 };
    const count = graph.node('Shape', [a], [1], { type: 'int64', attributes });
    const compare = (op: string, bound: number) =>
      graph.node(op, [count, graph.integers([bound])], [1], { type: 'bool' });
    const less = compare('Less', below);
    return graph.node('And', [less, compare('GreaterOrEqual', least)], [1], { type: 'bool' });
  });
}

/** Swaps rows and columns. */
function turn(x: Value): Value {
  const [rows, columns] = x.shape as [Dim, Dim];
  return x.graph.node('Transpose', [x], [columns, rows], { attributes: { perm: [1, 0] } });
}
