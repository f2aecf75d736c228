/**
 * What a command sees of its process: two outputs, a folder, a clock, and interrupts.
 *
 * Results go to `out` (stdout, for machines and pipes), all messages go to `err`
 * (stderr, for the user). Only `processIo.ts` touches the process; tests pass their own.
 */
import type { Clock } from '../base/index.ts';

export interface Screen {
  readonly columns: number;
  readonly rows: number;
}

export interface Io {
  /** How this program is called here, for example `npx millrace`. Printed commands begin with it. */
  readonly program: string;
  /** The folder given with `--runs`, if it is not the usual one: printed commands name it too. */
  readonly runs?: string;
  /** Base of relative paths. */
  readonly cwd: string;
  readonly clock: Clock;
  /** Whether stderr is watched by a user. */
  readonly terminal: boolean;
  /** The terminal supports no control sequences (TERM=dumb): plain lines only. */
  readonly dumb?: boolean;
  /** Which outputs take colour: terminals, unless NO_COLOR is set; left out = none. */
  readonly colour?: { readonly out: boolean; readonly err: boolean };
  /** The size of the terminal that stdout is; null if it is not one. */
  readonly screen?: () => Screen | null;
  /** Calls `handler` whenever that size changes, until the returned function is called. */
  readonly onResize?: (handler: () => void) => () => void;
  /** Writes to stdout; resolves when it has been taken. */
  out(text: string | Uint8Array): Promise<void>;
  /** A line on stderr. */
  err(line: string): void;
  /** Calls `handler` at every Ctrl-C (or SIGTERM) until the returned function is called. */
  onInterrupt(handler: () => void): () => void;
  /** Asks the user for a line of text, '' if stdin ends; left out = nobody is at a terminal. */
  readonly ask?: (question: string) => Promise<string>;
  /** Calls `handler` when stdin ends. */
  readonly onInputEnd?: (handler: () => void) => void;
  /** From now on this process only uses processor time that others leave: watching must not slow the run. */
  readonly giveWay?: () => void;
  /** Ends the process at once. */
  exit(code: number): void;
}
