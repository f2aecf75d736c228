/** An `Io` that keeps what was said, with interrupts at the push of a function. */
import type { Io } from '../../../cli/io.ts';

export interface FakeIo extends Io {
  /** Everything on stdout; a byte that is not text is a character (latin1). */
  readonly stdout: () => string;
  /** Lines on stderr. */
  readonly stderr: () => readonly string[];
  readonly exits: readonly number[];
  interrupt(): void;
}

export function fakeIo(cwd: string, nowMs = 0): FakeIo {
  let out = '';
  const err: string[] = [];
  const exits: number[] = [];
  const handlers = new Set<() => void>();
  return {
    cwd,
    program: 'npx millrace',
    clock: { now: () => nowMs },
    terminal: false,
    exits,
    stdout: () => out,
    stderr: () => err,
    interrupt: () => {
      for (const handler of [...handlers]) handler();
    },
    out: async (text) => {
      out += typeof text === 'string' ? text : Buffer.from(text).toString('latin1');
    },
    err: (line) => void err.push(line),
    onInterrupt(handler) {
      handlers.add(handler);
      return () => handlers.delete(handler);
    },
    exit: (code) => void exits.push(code),
  };
}
