/**
 * Several signals as one, for a while.
 *
 * `AbortSignal.any` leaves an entry on each of its signals for as long as that signal lives: on the signal of
 * an endless run, one for every question. Here nothing stays after `release`.
 */
import { setMaxListeners } from 'node:events';

export interface EitherSignal {
  /** Aborts with the first of the others, for the same reason. */
  readonly signal: AbortSignal;
  /** Stops listening to the others. */
  release(): void;
}

export function eitherSignal(signals: readonly AbortSignal[]): EitherSignal {
  const controller = new AbortController();
  const release = (): void => {
    for (const each of signals) each.removeEventListener('abort', abort);
  };
  const abort = (): void => {
    const first = signals.find(({ aborted }) => aborted);
    release();
    controller.abort(first?.reason);
  };
  // Many calls may wait on a run's one signal; Node would take that for a leak.
  setMaxListeners(0, controller.signal, ...signals);
  for (const each of signals) each.addEventListener('abort', abort, { once: true });
  if (signals.some(({ aborted }) => aborted)) abort();
  return { signal: controller.signal, release };
}
