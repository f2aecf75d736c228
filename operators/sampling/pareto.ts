/**
 * Pareto selection: the fronts that fit whole, then the least crowded points of the first one that does not
 * (ET-Agent §7.3).
 */
import { nondominatedFronts, type Point } from './fronts.ts';
import { inOrder, stableOrder } from './stableOrder.ts';

export interface ParetoVerdict {
  /** Front number of each point. */
  readonly ranks: readonly number[];
  /** Crowding distance of each point of the one truncated front, null elsewhere. May be Infinity. */
  readonly distances: readonly (number | null)[];
  /** Indices of the selected points, best first. */
  readonly selected: readonly number[];
}

/**
 * Which crowding distance: `reference` as released (NSGA-II: the outermost points get Infinity, an objective
 * of equal values counts for nothing), `paper` the plain sum over neighbours: an outermost point counts the
 * one that it has.
 */
export type Crowding = 'reference' | 'paper';

/** Selects `keep` of the points (all if there are fewer). */
export function paretoSelect(
  points: readonly Point[],
  keep: number,
  mode: Crowding = 'reference',
): ParetoVerdict {
  const ranks = new Array<number>(points.length).fill(0);
  const distances = new Array<number | null>(points.length).fill(null);
  const selected: number[] = [];
  for (const [rank, front] of nondominatedFronts(points).entries()) {
    for (const index of front) ranks[index] = rank;
    const missing = keep - selected.length;
    if (missing <= 0) continue;
    const whole = front.length <= missing;
    const fitting = whole ? front : leastCrowded(points, front, missing, { distances, mode });
    // Not push(...fitting): a front may have more members than a call can have arguments.
    for (const index of fitting) selected.push(index);
  }
  return { ranks, distances, selected };
}

/** `count` members of a front, least crowded first. Notes the distance of every member in `distances`. */
function leastCrowded(
  points: readonly Point[],
  front: readonly number[],
  count: number,
  { distances, mode }: { readonly distances: (number | null)[]; readonly mode: Crowding },
): number[] {
  const crowded = crowding(points, front, mode);
  for (const { index, distance } of crowded) distances[index] = distance;
  return crowded.slice(0, count).map(({ index }) => index);
}

/** A member of a front and how far its neighbours are. */
export interface Crowded {
  readonly index: number;
  readonly distance: number;
}

/**
 * The members of a front, least crowded first. A distance is the sum over both objectives of the gap between
 * a point's neighbours, relative to the range; the outermost points get Infinity (paper: the gap to their one
 * neighbour), and an objective whose values are all equal counts for nothing. Equal distances stay in the
 * order of the second objective.
 */
export function crowding(
  points: readonly Point[],
  front: readonly number[],
  mode: Crowding = 'reference',
): Crowded[] {
  const distance = new Float64Array(front.length);
  let order = inOrder(front.length);
  for (const objective of [0, 1] as const) {
    const value = Float64Array.from(front, (index) => points[index]![objective] + 0); // -0 + 0 is 0
    order = stableOrder(value, order);
    addGaps(distance, value, order, mode);
  }
  const falling = distance.map((d) => 0 - d);
  return Array.from(stableOrder(falling, order), (member) => ({
    index: front[member]!,
    distance: distance[member]!,
  }));
}

/**
 * Adds to each distance the gap between a member's neighbours in one objective; `order` is ascending in it.
 */
function addGaps(
  distance: Float64Array,
  value: Float64Array,
  order: Int32Array,
  mode: Crowding,
): void {
  const first = order[0]!;
  const last = order.at(-1)!;
  const range = value[last]! - value[first]!;
  if (range === 0) return;
  if (mode === 'paper') {
    distance[first]! += (value[order[1]!]! - value[first]!) / range;
    distance[last]! += (value[last]! - value[order.at(-2)!]!) / range;
  } else {
    distance[first] = Number.POSITIVE_INFINITY;
    distance[last] = Number.POSITIVE_INFINITY;
  }
  for (let i = 1; i < order.length - 1; i++)
    distance[order[i]!]! += (value[order[i + 1]!]! - value[order[i - 1]!]!) / range;
}
