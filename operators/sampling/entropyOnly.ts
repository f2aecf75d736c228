/**
 * The branching policy that never branches and measures entropies only: independent rollouts, each step with
 * its mean entropy, by which preferences are chosen afterwards (preferences/toolLight.ts).
 */
import type { Branching } from './branching.ts';
import { LOG_PROBS_PER_TOKEN, windowEntropies } from './entropyGuided.ts';

/** Mean entropy of a step's tokens (nats), of the returned log-probs of each; 0 for an empty step. */
export function meanEntropy(topLogProbs: readonly (readonly number[])[]): number {
  return windowEntropies(topLogProbs, topLogProbs.length, [0])[0]!.entropy;
}

/** More than any step has. */
const ALL_TOKENS = 1_000_000;

/** Independent rollouts with the mean entropy of each step, in nats. */
export const entropyOnly: Branching = {
  initialRollouts: Number.POSITIVE_INFINITY,
  beamSize: 1,
  stepEntropy: meanEntropy,
  entropyTokens: ALL_TOKENS,
  logProbsPerToken: LOG_PROBS_PER_TOKEN,
  decide: () => false,
};
