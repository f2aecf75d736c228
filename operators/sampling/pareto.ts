/**
 * Pareto selection: the fronts that fit whole, then the least crowded points of the first that does not
 * (ET-Agent §7.3).
 */
import { nondominatedFronts, type Point } from './fronts.ts';

export interface ParetoVerdict {
  /** Front number of each point. */
  readonly ranks: readonly number[];
  /** Crowding distance of each point of the one truncated front, null elsewhere. May be Infinity. */
  readonly distances: readonly (number | null)[];
  /** Indices of the selected points, best first. */
  readonly selected: readonly number[];
}

/** Selects `keep` of the points (all when there are fewer). */
export function paretoSelect(points: readonly Point[], keep: number): ParetoVerdict {
  const ranks = new Array<number>(points.length).fill(0);
  const distances = new Array<number | null>(points.length).fill(null);
  const selected: number[] = [];
  for (const [rank, front] of nondominatedFronts(points).entries()) {
    for (const index of front) ranks[index] = rank;
    const missing = keep - selected.length;
    if (missing <= 0) continue;
    if (front.length <= missing) selected.push(...front);
    else {
      const crowded = crowding(points, front);
      for (const { index, distance } of crowded) distances[index] = distance;
      selected.push(...crowded.slice(0, missing).map(({ index }) => index));
    }
  }
  return { ranks, distances, selected };
}

/** A member of a front and how far its neighbours are. */
export interface Crowded {
  readonly index: number;
  readonly distance: number;
}

/**
 * The members of a front, least crowded first. A distance is the sum over both objectives of the gap between a
 * point's neighbours, relative to the range; the outermost points get Infinity, and an objective whose values
 * are all equal counts for nothing. Equal distances stay in the order of the second objective.
 */
export function crowding(points: readonly Point[], front: readonly number[]): Crowded[] {
  const distance = new Map(front.map((index) => [index, 0]));
  let order = [...front];
  for (const objective of [0, 1] as const) {
    const value = (index: number) => points[index]![objective];
    order = order.toSorted((a, b) => value(a) - value(b));
    const first = order[0]!;
    const last = order.at(-1)!;
    const range = value(last) - value(first);
    if (range === 0) continue;
    distance.set(first, Number.POSITIVE_INFINITY);
    distance.set(last, Number.POSITIVE_INFINITY);
    for (let i = 1; i < order.length - 1; i++) {
      const gap = (value(order[i + 1]!) - value(order[i - 1]!)) / range;
      distance.set(order[i]!, distance.get(order[i]!)! + gap);
    }
  }
  return order
    .map((index) => ({ index, distance: distance.get(index)! }))
    .sort((a, b) => (a.distance === b.distance ? 0 : a.distance > b.distance ? -1 : 1));
}
