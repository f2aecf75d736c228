/**
 * RLOO: a rollout against the mean of the others (leave one out).
 */
import { centred, type ScoreAdvantage } from './group.ts';

/** RLOO: the score minus the mean of the others. A group of one keeps its score. */
export function rloo(): ScoreAdvantage {
  return (scores) => {
    const n = scores.length;
    if (n === 1) return [...scores];
    return centred(scores).map((score) => (score * n) / (n - 1));
  };
}
