/** Graphs, their operations and their gradients, lowered to ONNX. */
export { Graph, type Value } from './graph.ts';
export type { Judged } from './layers.ts';
export { add, matmul, multiply, reshape, subtract, sum } from './ops.ts';
