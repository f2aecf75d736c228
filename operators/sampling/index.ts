/** Branching by entropy, and Pareto fronts. */
export { type AepoOptions, aepo } from './aepo.ts';
export { type ArpoOptions, arpo } from './arpo.ts';
export { type Branching, type EntropyGuided, isGuided, type SplitBudget } from './branching.ts';
export { entropyOnly } from './entropyOnly.ts';
export type { Objective } from './objectives.ts';
export type { RunningFront } from './runningFront.ts';
