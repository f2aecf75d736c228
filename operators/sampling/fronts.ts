/**
 * Non-dominated sorting of points with two objectives, both maximised (ET-Agent §7.2).
 *
 * p dominates q when it is at least as good in both objectives and better in one. Front 0 holds the points
 * that nothing dominates, front 1 those that only front 0 dominates, and so on. The result, order inside
 * the fronts included, is that of the pairwise double loop of NSGA-II; this takes O(n log n).
 */
import { inOrder, stableOrder } from './stableOrder.ts';

/** Two objectives; more is better. */
export type Point = readonly [first: number, second: number];

/**
 * The fronts as lists of indices. Front 0 is in order of index; a later front is in the order in which the
 * walk over the front before it meets each point's last dominator, then of index.
 */
export function nondominatedFronts(points: readonly Point[]): number[][] {
  const columns = columnsOf(points);
  const swept = sweep(columns);
  const place = new Int32Array(points.length);
  const fronts: number[][] = [];
  for (const [rank, members] of swept.entries()) {
    const front =
      rank === 0
        ? members.toSorted((a, b) => a - b)
        : inWalkOrder(columns, members, swept[rank - 1]!, place);
    for (let at = 0; at < front.length; at++) place[front[at]!] = at;
    fronts.push(front);
  }
  return fronts;
}

/** The points by column, negated: less is better, and there is one zero. */
interface Columns {
  readonly first: Float64Array;
  readonly second: Float64Array;
}

function columnsOf(points: readonly Point[]): Columns {
  const first = new Float64Array(points.length);
  const second = new Float64Array(points.length);
  for (let i = 0; i < points.length; i++) {
    first[i] = 0 - points[i]![0];
    second[i] = 0 - points[i]![1];
  }
  return { first, second };
}

/**
 * The members of each front, in sweep order: by the first objective, then the second, then index. A point
 * that comes later in the sweep is dominated by a front exactly when the front's best second objective so far
 * is as good as its own; those bests get worse from front to front, so the first front that does not dominate
 * is found by halving. Equal points share a front.
 */
function sweep({ first, second }: Columns): number[][] {
  const fronts: number[][] = [];
  const best: number[] = [];
  let previous = -1;
  let rank = 0;
  for (const index of stableOrder(first, stableOrder(second, inOrder(first.length)))) {
    const same =
      previous >= 0 && first[previous] === first[index] && second[previous] === second[index];
    if (!same) rank = countUpTo(best, second[index]!);
    if (rank === fronts.length) {
      fronts.push([]);
      best.push(Number.POSITIVE_INFINITY);
    }
    fronts[rank]!.push(index);
    best[rank] = Math.min(best[rank]!, second[index]!);
    previous = index;
  }
  return fronts;
}

/** How many of the ascending values are at most `limit`. */
function countUpTo(ascending: readonly number[], limit: number): number {
  let low = 0;
  let high = ascending.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (ascending[middle]! <= limit) low = middle + 1;
    else high = middle;
  }
  return low;
}

/**
 * A front in the order of the pairwise loop: by the place (in the ordered front before it) of a point's last
 * dominator, then by index. In sweep order the dominators of a point are a window of the front before it, and
 * both ends of the window only move forward, so a queue of falling places gives each window's maximum.
 */
function inWalkOrder(
  { first, second }: Columns,
  members: readonly number[],
  before: readonly number[],
  place: Int32Array,
): number[] {
  const keys = new Float64Array(members.length);
  const window: number[] = [];
  let head = 0;
  let next = 0;
  for (let i = 0; i < members.length; i++) {
    const index = members[i]!;
    while (next < before.length && first[before[next]!]! <= first[index]!) {
      const entering = before[next++]!;
      while (window.length > head && place[window[window.length - 1]!]! < place[entering]!)
        window.pop();
      window.push(entering);
    }
    while (second[window[head]!]! > second[index]!) head++;
    // Two whole numbers below the number of points in one double: exact up to 94 million points.
    keys[i] = place[window[head]!]! * first.length + index;
  }
  return remaindersInOrder(keys, first.length);
}

/** The keys ascending, each modulo `count`. A typed array sorts numbers without a comparison function. */
function remaindersInOrder(keys: Float64Array, count: number): number[] {
  keys.sort();
  const remainders: number[] = [];
  for (let i = 0; i < keys.length; i++) remainders.push(keys[i]! % count);
  return remainders;
}
