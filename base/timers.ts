/**
 * What happens later, or again and again, by a clock: by the process's timers, or in the time of a clock that
 * sleeps in its own way.
 */
import type { Clock } from './clock.ts';
import { sleeps } from './sleepClock.ts';

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

/** A wait that was ended is no failure; what `act` throws is one of the process, as in a timer. */
function unlessEnded(signal: AbortSignal): (error: unknown) => void {
  return (error) => {
    if (!signal.aborted) throw error;
  };
}
