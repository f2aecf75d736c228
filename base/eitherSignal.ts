/**
 * Several signals as one, for a while.
 *
 * `AbortSignal.any` leaves an entry on each of its signals that stays for as long as that signal lives: on
 * the signal of a run without an end one for every question. Here nothing stays after `release`.
 */
import { setMaxListeners } from 'node:events';

export interface EitherSignal {
  /** Aborts with the first of the others, for its reason. */
  readonly signal: AbortSignal;
  /** No longer listens to the others. */
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
  // Many calls may wait on the one signal of a run; Node would take that for a leak.
  setMaxListeners(0, controller.signal, ...signals);
  for (const each of signals) each.addEventListener('abort', abort, { once: true });
  if (signals.some(({ aborted }) => aborted)) abort();
  return { signal: controller.signal, release };
}
