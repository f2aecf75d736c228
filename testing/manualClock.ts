/** A clock that moves only when a test advances it. */
import type { Clock } from '../base/index.ts';

/** A clock whose time moves only by `advance`. Milliseconds. */
export interface ManualClock extends Clock {
  advance(ms: number): void;
}

/** A clock that starts at `startMs` (milliseconds since 1970). */
export function manualClock(startMs = 1_000_000): ManualClock {
  let now = startMs;
  return {
    now: () => now,
    advance: (ms) => {
      now += ms;
    },
  };
}
