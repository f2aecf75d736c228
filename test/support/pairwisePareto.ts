/**
 * Pareto selection as NSGA-II writes it down: every pair of points is compared. Slow, O(n^2), and plain
 * enough to be checked by eye; its result, order included, is what operators/sampling must give.
 */
import type { Point } from '../../operators/sampling/fronts.ts';
import type { Crowded, ParetoVerdict } from '../../operators/sampling/pareto.ts';

function dominates(p: Point, q: Point): boolean {
  return p[0] >= q[0] && p[1] >= q[1] && (p[0] > q[0] || p[1] > q[1]);
}

export function pairwiseFronts(points: readonly Point[]): number[][] {
  const dominated: number[][] = points.map(() => []);
  const counters = points.map(() => 0);
  for (let p = 0; p < points.length; p++) {
    for (let q = 0; q < points.length; q++) {
      if (dominates(points[p]!, points[q]!)) {
        dominated[p]!.push(q);
        counters[q]! += 1;
      }
    }
  }
  let front = [...points.keys()].filter((i) => counters[i] === 0);
  const fronts: number[][] = [];
  while (front.length > 0) {
    fronts.push(front);
    front = front.flatMap((p) => dominated[p]!.filter((q) => --counters[q]! === 0));
  }
  return fronts;
}

function plainCrowding(points: readonly Point[], front: readonly number[]): Crowded[] {
  let crowded = front.map((index) => ({ index, distance: 0 }));
  for (const objective of [0, 1] as const) {
    const value = (at: number): number => points[crowded[at]!.index]![objective];
    crowded = crowded.toSorted((a, b) => points[a.index]![objective] - points[b.index]![objective]);
    const last = crowded.length - 1;
    const range = value(last) - value(0);
    if (range === 0) continue;
    for (let at = 1; at < last; at++)
      crowded[at]!.distance += (value(at + 1) - value(at - 1)) / range;
    for (const end of [0, last]) crowded[end]!.distance = Number.POSITIVE_INFINITY;
  }
  return crowded.sort((a, b) => (a.distance === b.distance ? 0 : a.distance > b.distance ? -1 : 1));
}

export function pairwiseSelect(points: readonly Point[], keep: number): ParetoVerdict {
  const ranks = points.map(() => 0);
  const distances = points.map((): number | null => null);
  let selected: number[] = [];
  for (const [rank, front] of pairwiseFronts(points).entries()) {
    for (const index of front) ranks[index] = rank;
    const missing = keep - selected.length;
    if (missing <= 0) continue;
    if (front.length <= missing) {
      selected = [...selected, ...front];
      continue;
    }
    const crowded = plainCrowding(points, front);
    for (const { index, distance } of crowded) distances[index] = distance;
    selected = [...selected, ...crowded.slice(0, missing).map(({ index }) => index)];
  }
  return { ranks, distances, selected };
}
