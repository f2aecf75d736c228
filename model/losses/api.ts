/** What a loss of one's own is written with: `import { defineLoss, multiply, sum, … } from 'millrace/losses'`. */
export type { Graph, Value } from '../graph/graph.ts';
export type { Judged } from '../graph/layers.ts';
export { add, matmul, multiply, reshape, subtract, sum } from '../graph/ops.ts';
export type { Feed, Feeds } from '../runtime/session.ts';
export * from './index.ts';
export * from './loss.ts';
export * from './parts/feeds.ts';
export * from './parts/rollouts.ts';
export * from './parts/terms.ts';
export * from './parts/tokenWeights.ts';
