/** A command whose output is captured instead of shown, up to a limit: one that prints more is stopped. */
import { exitCodes } from '../failure.ts';
import type { Io } from '../io.ts';

const CHARACTERS_MAX = 200_000;

export interface Captured {
  readonly text: string;
  readonly ok: boolean;
}

/** Calls `act` with an `Io` like `io` whose output is captured. */
export async function captured(
  io: Io,
  signal: AbortSignal,
  act: (io: Io) => Promise<number>,
): Promise<Captured> {
  let [said, wrong] = ['', ''];
  let cut = false;
  const stop = new AbortController();
  const code = await act({
    ...{ program: io.program, cwd: io.cwd, clock: io.clock, terminal: false },
    async out(text) {
      said += typeof text === 'string' ? text : Buffer.from(text).toString();
      if (said.length <= CHARACTERS_MAX) return;
      cut = true;
      said = said.slice(0, CHARACTERS_MAX);
      stop.abort();
    },
    err: (line) => {
      if (wrong.length < CHARACTERS_MAX) wrong += `${line}\n`;
    },
    onInterrupt(handler) {
      const stopped = AbortSignal.any([signal, stop.signal]);
      stopped.addEventListener('abort', handler);
      if (stopped.aborted) handler();
      return () => stopped.removeEventListener('abort', handler);
    },
    exit: () => undefined,
  });
  // a diff that finds differences, or a doctor that finds damage, exits with 1, and its findings are the
  // answer
  const ok = code === exitCodes.done || said !== '';
  const more = cut ? `\n… truncated at ${CHARACTERS_MAX} characters; ask for less` : '';
  return { text: ok ? said + more : `${wrong}${said}`.trim(), ok };
}
