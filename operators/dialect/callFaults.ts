/**
 * What happens to a call that cannot be made: the policy reads what is wrong, or its rollout ends.
 */
export const callFaults = ['answered', 'ends'] as const;
/** One of `callFaults`. */
export type CallFaults = (typeof callFaults)[number];
