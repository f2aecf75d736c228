/**
 * A number that follows the optimiser steps of a run: straight lines between points, level before the first
 * and after the last.
 */

/** A step of the run, from 1, and the number there. Steps rise from point to point. */
export type StepPoint = readonly [step: number, value: number];

/** The number at a step; null if there are no points. */
export function byStep(points: readonly StepPoint[], step: number): number | null {
  const behind = points.findIndex(([at]) => at > step);
  if (behind < 0) return points.at(-1)?.[1] ?? null;
  const [nextAt, next] = points[behind]!;
  if (behind === 0) return next;
  const [at, value] = points[behind - 1]!;
  return value + ((next - value) * (step - at)) / (nextAt - at);
}
