/**
 * Non-dominated sorting of points with two objectives, both maximised (ET-Agent §7.2).
 *
 * p dominates q when it is at least as good in both objectives and better in one. Front 0 holds the points
 * that nothing dominates, front 1 those that only front 0 dominates, and so on. The result, order inside
 * the fronts included, is that of the pairwise double loop of NSGA-II; this takes O(n log n).
 */

/** Two objectives; more is better. */
export type Point = readonly [first: number, second: number];

/**
 * The fronts as lists of indices. Front 0 is in order of index; a later front is in the order in which the
 * walk over the front before it meets each point's last dominator, then of index.
 */
export function nondominatedFronts(points: readonly Point[]): number[][] {
  const descending = points.map((_, index) => index).sort((a, b) => compare(points, a, b));
  const swept = sweep(points, descending);
  const fronts: number[][] = [];
  swept.forEach((members, rank) => {
    fronts.push(
      rank === 0
        ? members.toSorted((a, b) => a - b)
        : inWalkOrder(points, members, swept[rank - 1]!, fronts[rank - 1]!),
    );
  });
  return fronts;
}

/** First objective descending, then the second descending, then index. */
function compare(points: readonly Point[], a: number, b: number): number {
  const [p, q] = [points[a]!, points[b]!];
  return q[0] - p[0] || q[1] - p[1] || a - b;
}

/**
 * The members of each front, in sweep order. A point that comes later in the sweep is dominated by a front
 * exactly when the front's best second objective so far reaches its own; those bests fall from front to
 * front, so the first front that does not dominate is found by halving. Equal points share a front.
 */
function sweep(points: readonly Point[], descending: readonly number[]): number[][] {
  const fronts: number[][] = [];
  const best: number[] = [];
  let previous: Point | null = null;
  let rank = 0;
  for (const index of descending) {
    const point = points[index]!;
    const same = previous !== null && previous[0] === point[0] && previous[1] === point[1];
    if (!same) rank = countWhile(best, (value) => value >= point[1]);
    if (rank === fronts.length) fronts.push([]);
    fronts[rank]!.push(index);
    best[rank] = Math.max(best[rank] ?? Number.NEGATIVE_INFINITY, point[1]);
    previous = point;
  }
  return fronts;
}

/** How many leading values hold, for values that hold up to some place and not after it. */
function countWhile(values: readonly number[], holds: (value: number) => boolean): number {
  let low = 0;
  let high = values.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (holds(values[middle]!)) low = middle + 1;
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
  points: readonly Point[],
  members: readonly number[],
  before: readonly number[],
  beforeOrdered: readonly number[],
): number[] {
  const place = new Map(beforeOrdered.map((index, at) => [index, at]));
  const last = new Map<number, number>();
  const window: number[] = [];
  let head = 0;
  let next = 0;
  for (const index of members) {
    const [first, second] = points[index]!;
    while (next < before.length && points[before[next]!]![0] >= first) {
      const entering = before[next++]!;
      while (window.length > head && place.get(window.at(-1)!)! < place.get(entering)!)
        window.pop();
      window.push(entering);
    }
    while (points[window[head]!]![1] < second) head++;
    last.set(index, place.get(window[head]!)!);
  }
  return members.toSorted((a, b) => last.get(a)! - last.get(b)! || a - b);
}
