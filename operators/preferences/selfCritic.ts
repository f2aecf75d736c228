/**
 * Tool-Star's self-critic pairs (§4.4): the current policy's own responses, judged by the rule reward. Chosen
 * is any that earned at least 1 (right, in good form), rejected any that earned less.
 *
 * The method leaves open which ones make a pair. Here the largest difference comes first: the highest reward
 * (among equals the fewest calls, then the shortest) against the lowest reward.
 */
import { allPairs, type Criterion, descending, sortedBy } from './candidate.ts';

/** How many pairs, and from which reward on a response is chosen. */
export interface SelfCriticOptions {
  /** Limit of pairs per question (default 1). */
  readonly pairsMax?: number;
  /** The minimum reward of a chosen response (default 1). */
  readonly from?: number;
}

/**
 * Tool-Star's self-critic (§4.4): the best rewarded response against the worst, of equals the one with fewer
 * calls, then the shorter.
 */
export function selfCritic({ pairsMax = 1, from = 1 }: SelfCriticOptions = {}): Criterion {
  return (candidates) => {
    const chosen = sortedBy(
      candidates.filter(({ score }) => score >= from),
      descending(({ score }) => score),
      ({ toolCalls }) => toolCalls,
      ({ length }) => length,
    );
    const rejected = sortedBy(
      candidates.filter(({ score }) => score < from),
      ({ score }) => score,
    );
    return { difficulty: '', pairs: allPairs(chosen, rejected, pairsMax, 'self-critic') };
  };
}
