/** Ctrl-C for commands that do work: the first one stops cleanly, the second at once. */
import { exitCodes } from './failure.ts';
import type { Io } from './io.ts';
import { removeNow, type Scratch } from './scratch.ts';

export interface Interruption {
  /** Aborted by the first Ctrl-C. */
  readonly signal: AbortSignal;
  /** Removed with the process when it is stopped at once. */
  readonly scratch: Scratch;
  /** Stops listening. */
  release(): void;
}

/** `line` null = print nothing. */
export function interruption(
  io: Io,
  line: string | null = 'finishing what is in flight; press Ctrl-C again to stop at once',
): Interruption {
  const controller = new AbortController();
  const scratch: Scratch = new Set();
  const release = io.onInterrupt(() => {
    if (controller.signal.aborted) return stopAtOnce(io, scratch);
    if (line !== null) io.err(line);
    controller.abort();
  });
  return { signal: controller.signal, scratch, release };
}

/** For commands with nothing to finish: the first Ctrl-C stops at once. */
export async function stoppable<T>(io: Io, work: (scratch: Scratch) => Promise<T>): Promise<T> {
  const scratch: Scratch = new Set();
  const release = io.onInterrupt(() => stopAtOnce(io, scratch));
  try {
    return await work(scratch);
  } finally {
    release();
  }
}

function stopAtOnce(io: Io, scratch: Scratch): void {
  removeNow(scratch);
  io.exit(exitCodes.interrupted);
}
