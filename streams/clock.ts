/**
 * Time as an argument. Logic asks a clock; only the edges of a process make the system's.
 */
export interface Clock {
  /** Milliseconds since 1970. */
  now(): number;
}

export const systemClock: Clock = { now: () => Date.now() };
