/**
 * GRPO: a rollout against the mean of its group, in sample deviations of the group (ET-Agent §8.7).
 */
import { centred, type ScoreAdvantage, sampleDeviation } from './group.ts';

/** `grpo({ normByStd: false })` is Dr. GRPO (Liu et al., 2025). */
export interface GrpoOptions {
  /** Divide by the sample deviation (default). False = Dr. GRPO: the centred scores. */
  readonly normByStd?: boolean;
}

/** Keeps a deviation of zero from dividing. */
export const SPREAD_EPSILON = 1e-6;

/** GRPO: (s - mean) / (sample deviation + 1e-6). A group of one keeps its score. */
export function grpo({ normByStd = true }: GrpoOptions = {}): ScoreAdvantage {
  return (scores) => {
    if (scores.length === 1) return normByStd ? [scores[0]! / (1 + SPREAD_EPSILON)] : [...scores];
    const spread = normByStd ? sampleDeviation(scores) + SPREAD_EPSILON : 1;
    return centred(scores).map((score) => score / spread);
  };
}
