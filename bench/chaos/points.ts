/**
 * Where a process may be killed: named moments, each of which comes many times in a run, besides any moment
 * by the clock.
 *
 * The process counts how often it reaches the point and kills itself with SIGKILL the n-th time: no handler
 * runs, nothing is flushed, worker threads end where they are. `turns` lets what has just begun go on for
 * some turns of the event loop first, so that the kill falls into it.
 */

/** In the order of a step: each name tells what has just happened. */
export const points = [
  /** The log is open, and nothing has been done with it. */
  'opened',
  /** A commit has been handed over and is under way. */
  'committing',
  /** A commit is on disk, and nobody knows yet. */
  'committed',
  'generating',
  'calling',
  /** The engine takes new weights. */
  'loading',
  /** An optimiser step has begun. */
  'stepping',
  'stepped',
  /** The weights file is written, the optimiser's state is not. */
  'half-saved',
  /** Both files are there, their manifest is not. */
  'saved',
  /** A truncated file of the next version exists, as a crash during a write may leave it. */
  'torn',
] as const;

export type Point = (typeof points)[number];

/** When a process kills itself. */
export interface Kill {
  readonly point: Point;
  /** Times that the point is passed before. */
  readonly after: number;
  readonly turns: number;
}

/** Asked at every point of a process. */
export interface KillSwitch {
  /** Resolves when the process may go on; never if it is killed here. */
  reach(point: Point): Promise<void>;
  /** How often each point was reached. */
  readonly reached: Readonly<Record<Point, number>>;
  /** Whether the next time at this point is the last. */
  next(point: Point): boolean;
}

/** `die` must not return. */
export function killSwitch(kill: Kill | null, die: () => never): KillSwitch {
  const reached = Object.fromEntries(points.map((point) => [point, 0])) as Record<Point, number>;
  const next = (point: Point): boolean => kill?.point === point && reached[point] === kill.after;
  return {
    reached,
    next,
    async reach(point) {
      const last = next(point);
      reached[point] += 1;
      if (!last) return;
      for (let turn = 0; turn < kill!.turns; turn++) {
        await new Promise((resolve) => setImmediate(resolve));
      }
      die();
    },
  };
}
