/**
 * Waiting for one thing after another under one signal that lives as long as the run.
 *
 * `Promise.race([work, aborted])` would leave a reaction, and with it the result of `work`, on the promise of
 * the signal for every wait. Here no wait leaves anything behind.
 */

export interface OrAborted {
  /** What `work` gives, or null once the signal aborts. One wait at a time. */
  wait<T>(work: Promise<T>): Promise<T | null>;
  /** No longer listens to the signal. */
  forget(): void;
}

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
