/**
 * How the strength of the efficiency reward fades within a stage (ET-Agent §8.6): from 1 at the first step
 * to 0 at the last. Multiply a configured σ by it.
 */

/** Factor at `step` (from 1) of `stepsTotal`; 0 for a stage of one step. */
export function sigmaFactor(step: number, stepsTotal: number): number {
  if (stepsTotal <= 1) return 0;
  return Math.max(0, (stepsTotal - step) / (stepsTotal - 1));
}
