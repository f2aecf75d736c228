/**
 * Waits that a signal can end. The work itself continues; only the wait ends, and no wait leaves anything on
 * the promise or the signal, as both may live as long as the run.
 */
import { setMaxListeners } from 'node:events';

/** The promise's outcome, or a rejection with the signal's reason if that comes first. */
export async function raceAbort<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  signal.throwIfAborted();
  // Many calls may wait on a run's one signal; Node would take that for a leak.
  setMaxListeners(0, signal);
  let abandon = (): void => undefined;
  const aborted = new Promise<never>((_, reject) => {
    abandon = () => reject(signal.reason);
    signal.addEventListener('abort', abandon, { once: true });
  });
  try {
    return await Promise.race([work, aborted]);
  } finally {
    signal.removeEventListener('abort', abandon);
    work.catch(() => undefined);
  }
}

/** Waits for one thing after another under one signal. */
export interface OrAborted {
  /** The result of `work`, or null once the signal aborts. One wait at a time. */
  wait<T>(work: Promise<T>): Promise<T | null>;
  /** Stops listening to the signal. */
  forget(): void;
}

/**
 * `Promise.race([work, aborted])` would leave a reaction, and with it the result of `work`, on the promise of
 * the signal for every wait: here the signal has one listener for all of them.
 */
export function orAborted(signal: AbortSignal): OrAborted {
  let wake = (): void => undefined;
  const listener = (): void => wake();
  signal.addEventListener('abort', listener, { once: true });
  return {
    wait: (work) =>
      new Promise((resolve, reject) => {
        wake = () => resolve(null);
        work.then(resolve, reject);
        if (signal.aborted) wake();
      }),
    forget: () => signal.removeEventListener('abort', listener),
  };
}
