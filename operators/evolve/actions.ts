/**
 * The evolve actions of the method (ET-Agent §4.6, §4.7), in the order in which their trajectories join the
 * pool.
 */
import type { EvolveAction } from './action.ts';
import { redundancyRemoval, refinement, rerollout } from './enhance.ts';
import { selfCorrection, stepHint, trajectoryHint } from './reflect.ts';

export { redundancyRemoval, refinement, rerollout, selfCorrection, stepHint, trajectoryHint };

/** The six actions of ET-Agent (§4.6, §4.7), in the order in which their trajectories join the pool. */
export const defaultActions: readonly EvolveAction[] = [
  rerollout,
  redundancyRemoval,
  refinement,
  selfCorrection,
  stepHint,
  trajectoryHint,
];
