/**
 * Time as an argument. Logic asks a clock; only the edges of a process create the system clock.
 */
export interface Clock {
  /** Milliseconds since 1970. */
  now(): number;
}

/**
 * Wall time that never goes back, so that no duration is negative and a topic's times never fall. When the
 * machine's clock steps back, time continues from where it was; a step forward is followed, since the machine
 * may have slept.
 */
export function steadyClock(wall: () => number, monotonic: () => number): Clock {
  let aheadMs = Number.NEGATIVE_INFINITY;
  return {
    now() {
      const elapsedMs = monotonic();
      aheadMs = Math.max(aheadMs, wall() - elapsedMs);
      return Math.floor(elapsedMs + aheadMs);
    },
  };
}

/** The wall clock of this process in milliseconds since 1970; it never goes back. */
export const systemClock: Clock = steadyClock(
  () => Date.now(),
  () => performance.now(),
);
