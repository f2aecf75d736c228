/** How a group of rollouts grows: turns, branches, limits. */
export { hasWorld } from './branchWorld.ts';
export { checkHelping, type Helping } from './helping.ts';
export type { Grow, RolloutOptions } from './options.ts';
