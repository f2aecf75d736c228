/**
 * Which trajectory of the pool is evolved next (ET-Agent §4.5): the best one that was not a parent yet.
 */
import { countToolCalls } from '../text/tags.ts';

export interface Candidate {
  readonly text: string;
  /** Larger is better: 1 or 0 for mathematics, F1 for knowledge. */
  readonly score: number;
}

/** Index of the best candidate not in `used` (score, then fewer calls, then age); the best of all when all are. */
export function selectParent(pool: readonly Candidate[], used: ReadonlySet<number>): number {
  const order = pool
    .map(({ text, score }, index) => ({ index, score, calls: countToolCalls(text) }))
    .sort((a, b) => b.score - a.score || a.calls - b.calls)
    .map(({ index }) => index);
  return order.find((index) => !used.has(index)) ?? order[0]!;
}
