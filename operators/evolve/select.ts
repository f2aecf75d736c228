/**
 * Which trajectory of the pool is evolved next (ET-Agent §4.5): the best that were not parents yet.
 */
import { countToolCalls } from '../dialect/tags.ts';

export interface Candidate {
  readonly text: string;
  /** Larger is better: 1 or 0 for mathematics, F1 for knowledge. */
  readonly score: number;
}

/**
 * The `count` best candidates not in `used` (by score, then fewer calls, then age), as indices, best first;
 * if all are used, the best of all.
 */
export function selectParents(
  pool: readonly Candidate[],
  used: ReadonlySet<number>,
  count: number,
  tools: readonly string[],
): number[] {
  const order = pool
    .map(({ text, score }, index) => ({ index, score, calls: countToolCalls(text, tools) }))
    .sort((a, b) => b.score - a.score || a.calls - b.calls)
    .map(({ index }) => index);
  const fresh = order.filter((index) => !used.has(index)).slice(0, count);
  return fresh.length > 0 ? fresh : order.slice(0, 1);
}
