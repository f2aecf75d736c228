/**
 * A clock that can also sleep, as an argument: a client of a server waits between attempts and gives up after
 * a while. Also timers by a clock: those of the process, or those of a clock with its own time.
 */
import type { Clock } from './clock.ts';

/**
 * Time and waiting in milliseconds; `sleepClock(systemClock)` is the real one, tests pass one that they move
 * by hand.
 */
export interface SleepClock extends Clock {
  /** Resolves after `ms` milliseconds; rejects with the signal's reason if that comes first. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
}

/** `clock`, sleeping by the process's timers unless it has its own way to sleep. */
export function sleepClock(clock: Clock): SleepClock {
  if (sleeps(clock)) return clock;
  return {
    now: () => clock.now(),
    async sleep(ms, signal) {
      signal?.throwIfAborted();
      await new Promise<void>((resolve, reject) => {
        const end = (): void => {
          clearTimeout(timer);
          reject(signal?.reason);
        };
        const timer = setTimeout(() => {
          signal?.removeEventListener('abort', end);
          resolve();
        }, ms);
        signal?.addEventListener('abort', end, { once: true });
      });
    },
  };
}

/** Whether the clock has its own time, so that nothing may wait by the process's timers. */
export function sleeps(clock: Clock): clock is SleepClock {
  return 'sleep' in clock;
}

/** Calls `act` every `ms` milliseconds until the returned function is called. */
export function every(clock: Clock, ms: number, act: () => void): () => void {
  if (!sleeps(clock)) {
    const timer = setInterval(act, ms);
    return () => clearInterval(timer);
  }
  const ended = new AbortController();
  const beat = async (): Promise<void> => {
    for (;;) {
      await clock.sleep(ms, ended.signal);
      if (ended.signal.aborted) return;
      act();
    }
  };
  void beat().catch(unlessEnded(ended.signal));
  return () => ended.abort();
}

/** Calls `act` once after `ms` milliseconds, unless the returned function is called before. */
export function later(clock: Clock, ms: number, act: () => void): () => void {
  if (!sleeps(clock)) {
    const timer = setTimeout(act, ms);
    return () => clearTimeout(timer);
  }
  const ended = new AbortController();
  const wait = clock.sleep(ms, ended.signal).then(() => {
    if (!ended.signal.aborted) act();
  });
  void wait.catch(unlessEnded(ended.signal));
  return () => ended.abort();
}

/** A wait that was ended is no failure; an error thrown by `act` is the process's, as in a timer. */
function unlessEnded(signal: AbortSignal): (error: unknown) => void {
  return (error) => {
    if (!signal.aborted) throw error;
  };
}
