/**
 * Waiting that a signal can end. The work itself continues; only the wait ends.
 */
import { setMaxListeners } from 'node:events';

/** The promise's outcome, or a rejection with the signal's reason if that comes first. */
export async function raceAbort<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  signal.throwIfAborted();
  // Many calls may wait on the one signal of a run; Node would take that for a leak.
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
