/**
 * What becomes of a call that cannot be made: the policy is answered with what is wrong, or its rollout ends.
 */
export const callFaults = ['answered', 'ends'] as const;
/** One of `callFaults`. */
export type CallFaults = (typeof callFaults)[number];
