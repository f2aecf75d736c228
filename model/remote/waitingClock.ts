/**
 * Time to wait by, as an argument: what talks to a server sleeps between tries and gives up after a while.
 */
import { setTimeout as after } from 'node:timers/promises';
import type { Clock } from '../../base/clock.ts';

export interface WaitingClock extends Clock {
  /** Resolves after `ms` milliseconds; rejects with the signal's reason when that comes first. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
}

/** A clock that sleeps by the process's timers. */
export function waiting(clock: Clock): WaitingClock {
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
