/**
 * A clock that can also sleep, as an argument: what talks to a server waits between tries and gives up after
 * a while.
 */
import { setTimeout as after } from 'node:timers/promises';
import type { Clock } from './clock.ts';

/**
 * Time and waiting in milliseconds; `sleepClock(systemClock)` is the real one, tests pass one that they move
 * by hand.
 */
export interface SleepClock extends Clock {
  /** Resolves after `ms` milliseconds; rejects with the signal's reason when that comes first. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
}

/** `clock`, which sleeps by the process's timers unless it sleeps in its own way. */
export function sleepClock(clock: Clock): SleepClock {
  if (sleeps(clock)) return clock;
  return {
    now: () => clock.now(),
    async sleep(ms, signal) {
      try {
        await after(ms, undefined, signal === undefined ? {} : { signal });
      } catch (error) {
        signal?.throwIfAborted();
        throw error;
      }
    },
  };
}

/** Whether the clock has time of its own, so that nothing may wait by the process's timers. */
export function sleeps(clock: Clock): clock is SleepClock {
  return 'sleep' in clock;
}
