/**
 * When a stage's function should end early, and how it postpones its work.
 *
 * A run that stops lets work that has started finish and starts no more: a function that still waits for its
 * turn throws code `NOT_NOW`, and its record stays unsettled for the next start.
 */
import { setMaxListeners } from 'node:events';
import { eitherSignal, MillraceError } from '../../base/index.ts';

/** How a function in a stage learns of the end. Each signal aborts once. */
export interface StopSignals {
  /** The result is no longer wanted: the caller has gone. */
  readonly signal: AbortSignal;
  /**
   * The run is stopping: work that has started may finish (within `graceMs` of the run), nothing more should
   * start.
   */
  readonly stopping: AbortSignal;
  /**
   * Says that this call waits for what sets the pace of the run, or no longer does: it is counted as neither
   * busy nor starved.
   */
  paced?(now: boolean): void;
}

/** A signal that never aborts: outside a run nothing stops. */
export const neverStopping: AbortSignal = new AbortController().signal;
// Any number of calls may listen to it; Node would take that for a leak.
setMaxListeners(0, neverStopping);

/**
 * The error of work that was not started because the run is stopping. `before` completes "the run is stopping
 * before …".
 */
export function notNow(before: string, cause?: unknown): MillraceError {
  return new MillraceError('NOT_NOW', `the run is stopping before ${before}`, { cause });
}

/**
 * The result of `wait`. `until` aborts when the run stops or the result is no longer wanted; a wait cut short
 * by it fails with code `NOT_NOW`.
 */
export async function unlessStopping<T>(
  { signal, stopping }: StopSignals,
  before: string,
  wait: (until: AbortSignal) => Promise<T>,
): Promise<T> {
  const until = eitherSignal([signal, stopping]);
  try {
    return await wait(until.signal);
  } catch (cause) {
    if (until.signal.aborted) throw notNow(before, cause);
    throw cause;
  } finally {
    until.release();
  }
}
