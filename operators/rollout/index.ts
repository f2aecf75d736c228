/** How a group of rollouts grows: turns, branches, limits. */
export type { RolloutOptions } from './options.ts';
