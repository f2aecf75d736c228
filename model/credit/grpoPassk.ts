/**
 * GRPO for pass@k: only the best rollout of a group is credited.
 */
import { type ScoreAdvantage, sampleDeviation } from './group.ts';
import { type GrpoOptions, SPREAD_EPSILON } from './grpo.ts';

/**
 * GRPO-passk: only the best rollout gets credit, its lead over the second best, divided by the sample
 * deviation + 1e-6 unless `normByStd` is false. Throws for a group of one.
 */
export function grpoPassk({ normByStd = true }: GrpoOptions = {}): ScoreAdvantage {
  return (scores) => {
    if (scores.length < 2) {
      throw new Error(`pass@k needs at least 2 rollouts of a question, got ${scores.length}`);
    }
    const [first, second] = scores.toSorted((a, b) => b - a);
    const lead = (first! - second!) / (normByStd ? sampleDeviation(scores) + SPREAD_EPSILON : 1);
    const best = scores.indexOf(first!);
    return scores.map((_, i) => (i === best ? lead : 0));
  };
}
