/** A noisy curve made readable. */
import type { Point } from '../curves.ts';

/** Fewer points are not smoothed: they can be read one by one. */
const pointsMin = 16;
/** Share of the points that a mean covers. */
const share = 1 / 10;

/**
 * The mean of each point and its neighbours on both sides, fewer of them at the ends; null for few points.
 */
export function movingMean(points: readonly Point[]): readonly Point[] | null {
  if (points.length < pointsMin) return null;
  const reach = Math.max(1, Math.round((points.length * share) / 2));
  return points.map(({ x }, i) => {
    // The same number on either side: a one-sided mean would lag.
    const side = Math.min(reach, i, points.length - 1 - i);
    const near = points.slice(i - side, i + side + 1);
    return { x, y: near.reduce((sum, { y }) => sum + y, 0) / near.length };
  });
}
