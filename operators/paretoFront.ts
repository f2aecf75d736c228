/**
 * `paretoFront`: Pareto sampling without a window, for a stream that never ends: each scored group is judged as it comes,
 * against a running front.
 *
 * The running front is that of the last `memory` groups judged. A group is kept when fewer than `fronts` layers of them
 * dominate it, so about the same share is kept whatever the policy has become meanwhile, and nothing waits. The objectives
 * of a group are in its verdict: a run that starts again reads its last verdicts back (`recent`) and judges on as if it had
 * never stopped.
 */
import { defer, type OperatorFunction } from 'rxjs';
import type { Delivery } from '../streams/deliveries/delivery.ts';
import { keepIf, mapEach } from '../streams/primitives.ts';
import type { Scored, Selected } from '../streams/records.ts';
import type { Point } from './sampling/fronts.ts';
import {
  correctnessDispersion,
  type Objective,
  toolCallDispersion,
} from './sampling/objectives.ts';
import { type WithPosition, withPosition } from './withPosition.ts';

/** What a group is compared with, and which fronts are kept. */
export interface ParetoFrontOptions {
  /** Groups that a new one is compared with: the last ones judged. */
  readonly memory: number;
  /** Kept are the first so many fronts; 1 = only what nothing dominates. */
  readonly fronts: number;
  readonly objectives?: readonly [Objective, Objective];
  /** The last verdicts of this run, oldest first, at most `memory` of them: read once, at the start. */
  readonly recent: () => Promise<readonly Selected[]>;
}

/** p dominates q: at least as good in both objectives, and better in one (ET-Agent §7.2). */
export function dominates(p: Point, q: Point): boolean {
  return p[0] >= q[0] && p[1] >= q[1] && (p[0] > q[0] || p[1] > q[1]);
}

/**
 * The front that a point would be in among others: the length of the longest chain of points above it, each dominating
 * the next. O(n log n) in the points that dominate it.
 */
export function frontAmong(point: Point, others: readonly Point[]): number {
  const above = others
    .filter((other) => dominates(other, point))
    .sort((p, q) => q[0] - p[0] || q[1] - p[1]);
  // Walking down the first objective, a chain is a run of falling second objectives; equal points are one link.
  const tails: number[] = [];
  let previous: Point | null = null;
  for (const current of above) {
    if (previous !== null && current[0] === previous[0] && current[1] === previous[1]) continue;
    previous = current;
    let low = 0;
    let high = tails.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (tails[middle]! >= current[1]) low = middle + 1;
      else high = middle;
    }
    tails[low] = current[1];
  }
  return tails.length;
}

/** scored (phase `explore`) → selected, one verdict a group, at once. */
export function paretoFront(
  options: ParetoFrontOptions,
): OperatorFunction<Delivery<Scored>, Delivery<Selected>> {
  return (source) =>
    defer(() =>
      source.pipe(
        keepIf<Scored>(({ question }) => question.phase === 'explore'),
        withPosition<Scored>(),
        mapEach(judging(options), { concurrency: 1, onError: 'fail' }),
      ),
    );
}

/** Judges one group after another, with the running front between them. */
function judging(options: ParetoFrontOptions): (group: WithPosition<Scored>) => Promise<Selected> {
  const { memory, fronts, objectives, recent } = options;
  const [first, second] = objectives ?? [toolCallDispersion(), correctnessDispersion()];
  let points: Point[] | null = null;
  return async ({ value, position }) => {
    points ??= (await recent())
      .slice(-memory)
      .map(({ objectives: [a, b] }): Point => [a ?? 0, b ?? 0]);
    const point: Point = [first(value), second(value)];
    const front = frontAmong(point, points);
    points.push(point);
    if (points.length > memory) points.shift();
    const kept = front < fronts;
    return {
      question: value.question,
      objectives: point,
      front,
      distance: null,
      kept,
      why: kept ? 'selected' : 'dominated',
      index: kept ? 0 : -1,
      of: 0,
      version: value.version,
      scored: position,
    };
  };
}
