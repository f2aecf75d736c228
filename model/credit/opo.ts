/**
 * OPO: a rollout against the mean of its group, longer rollouts counting for more.
 */
import { allEqual, centredOrOwn, type GroupAdvantage } from './group.ts';

/** OPO: the score minus the length-weighted mean of the group. A group of one keeps its score. */
export function opo(): GroupAdvantage {
  return (scores, lengths) => {
    if (scores.length === 1 || allEqual(scores)) return centredOrOwn(scores);
    const weighted = scores.reduce((sum, score, i) => sum + score * lengths[i]!, 0);
    const baseline = weighted / lengths.reduce((sum, length) => sum + length, 0);
    return scores.map((score) => score - baseline);
  };
}
