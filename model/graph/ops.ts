/**
 * Differentiable arithmetic: each op is a few nodes with its gradient.
 *
 * Element-wise ops broadcast as ONNX does; their gradients are summed back to the operand's shape. Two named
 * dimensions are the same size exactly when they have the same name.
 */
import type { Dim, Shape, Value } from './graph.ts';

/** The shape that two operands broadcast to. */
export function broadcast(a: Shape, b: Shape): Shape {
  const rank = Math.max(a.length, b.length);
  const at = (shape: Shape, index: number): Dim => shape[index - rank + shape.length] ?? 1;
  return Array.from({ length: rank }, (_, index) => {
    const [left, right] = [at(a, index), at(b, index)];
    if (left === right || right === 1) return left;
    if (left === 1) return right;
    throw new Error(`shapes [${a}] and [${b}] do not broadcast`);
  });
}

/** Sum over `axes` (counted from 0), which stay as ones if `keep`. Not differentiable. */
export function reduceSum(x: Value, axes: readonly number[], keep: boolean): Value {
  const shape = keep
    ? x.shape.map((dim, index) => (axes.includes(index) ? 1 : dim))
    : x.shape.filter((_, index) => !axes.includes(index));
  const attributes = { keepdims: keep ? 1 : 0 };
  return x.graph.node('ReduceSum', [x, x.graph.integers(axes)], shape, { attributes });
}

/** Sum a gradient over the axes that broadcasting stretched, so that it has `shape`. */
export function sumTo(x: Value, shape: Shape): Value {
  const extra = x.shape.length - shape.length;
  const leading = Array.from({ length: extra }, (_, index) => index);
  const inner = extra === 0 ? x : reduceSum(x, leading, false);
  const stretched = shape.flatMap((dim, index) =>
    dim === 1 && inner.shape[index] !== 1 ? [index] : [],
  );
  return stretched.length === 0 ? inner : reduceSum(inner, stretched, true);
}

/** a + b, element-wise with ONNX broadcasting. Throws when the shapes do not broadcast. */
export function add(a: Value, b: Value): Value {
  const sum = a.graph.node('Add', [a, b], broadcast(a.shape, b.shape));
  return a.graph.derive(sum, [a, b], (g) => [sumTo(g, a.shape), sumTo(g, b.shape)]);
}

/** a - b, element-wise with ONNX broadcasting. Throws when the shapes do not broadcast. */
export function subtract(a: Value, b: Value): Value {
  const difference = a.graph.node('Sub', [a, b], broadcast(a.shape, b.shape));
  return a.graph.derive(difference, [a, b], (g) => [
    sumTo(g, a.shape),
    sumTo(a.graph.node('Neg', [g], g.shape), b.shape),
  ]);
}

/** a * b, element-wise with ONNX broadcasting. Throws when the shapes do not broadcast. */
export function multiply(a: Value, b: Value): Value {
  const product = a.graph.node('Mul', [a, b], broadcast(a.shape, b.shape));
  return a.graph.derive(product, [a, b], (g) => [
    sumTo(multiply(g, b), a.shape),
    sumTo(multiply(g, a), b.shape),
  ]);
}

/** Sum of all elements, as a scalar. */
export function sum(x: Value): Value {
  const axes = x.shape.map((_, index) => index);
  return x.graph.derive(reduceSum(x, axes, false), [x], (g) => [
    x.graph.node(
      'Expand',
      [g, x.graph.node('Shape', [x], [x.shape.length], { type: 'int64' })],
      x.shape,
    ),
  ]);
}

/** The same elements in another shape. One name that no input has takes the remaining size. */
export function reshape(x: Value, shape: Shape): Value {
  const { graph } = x;
  const named = shape.filter((dim) => typeof dim === 'string');
  const rest = named.length === 1 ? named[0] : named.find((dim) => !graph.knows(dim as string));
  const sizes = graph.sizes(shape.map((dim) => (dim === rest ? -1 : dim)));
  const reshaped = graph.node('Reshape', [x, sizes], shape);
  return graph.derive(reshaped, [x], (g) => [reshape(g, x.shape)]);
}

export function transpose(x: Value, order: readonly number[]): Value {
  const shape = order.map((axis) => x.shape[axis] as Dim);
  const transposed = x.graph.node('Transpose', [x], shape, { attributes: { perm: order } });
  const inverse = order.map((_, axis) => order.indexOf(axis));
  return x.graph.derive(transposed, [x], (g) => [transpose(g, inverse)]);
}

/** Swap the last two axes. */
export function flip(x: Value): Value {
  const rank = x.shape.length;
  return transpose(x, [...Array.from({ length: rank - 2 }, (_, axis) => axis), rank - 1, rank - 2]);
}

/** Matrix product over the last two axes; the axes before them are the same in both. */
export function matmul(a: Value, b: Value): Value {
  const product = a.graph.node('MatMul', [a, b], [...a.shape.slice(0, -1), b.shape.at(-1) as Dim]);
  return a.graph.derive(product, [a, b], (g) => [matmul(g, flip(b)), matmul(flip(a), g)]);
}
