/**
 * A clock for waits between tries: every sleep ends at once and remembered, but for those that are held,
 * which last until the test rings.
 */
import type { SleepClock } from '../../base/sleepClock.ts';

export interface ImpatientClock extends SleepClock {
  /** Sleeps that were not held, in milliseconds, in order. */
  readonly sleeps: readonly number[];
  /** Ends the held sleeps. */
  ring(): void;
  /** Resolves once a sleep is held. */
  held(): Promise<void>;
}

/** `holds` says which sleeps last; by default those of 120,000 ms or more, the time limits of requests. */
export function impatientClock(
  holds: (ms: number) => boolean = (ms) => ms >= 120_000,
): ImpatientClock {
  let now = Date.UTC(2026, 10, 20);
  const sleeps: number[] = [];
  const ringing = new Set<() => void>();
  let tell = (): void => undefined;
  const someone = new Promise<void>((resolve) => {
    tell = resolve;
  });
  return {
    sleeps,
    now: () => now,
    ring: () => {
      for (const wake of ringing) wake();
    },
    held: () => someone,
    async sleep(ms, signal) {
      signal?.throwIfAborted();
      if (!holds(ms)) {
        sleeps.push(ms);
        now += ms;
        return;
      }
      tell();
      await new Promise<void>((resolve, reject) => {
        const wake = () => {
          ringing.delete(wake);
          now += ms;
          resolve();
        };
        ringing.add(wake);
        signal?.addEventListener('abort', () => {
          ringing.delete(wake);
          reject(signal.reason);
        });
      });
    },
  };
}
