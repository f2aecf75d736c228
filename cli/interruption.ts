/** Ctrl-C, for commands that work: the first one stops in order, the second at once. `line` null = nothing is said. */
import { exitCodes } from './failure.ts';
import type { Io } from './io.ts';

export interface Interruption {
  /** Aborted by the first. */
  readonly signal: AbortSignal;
  /** No longer listens. */
  release(): void;
}

export function interruption(
  io: Io,
  line: string | null = 'stopping when the work in hand is done; Ctrl-C again stops at once',
): Interruption {
  const controller = new AbortController();
  const release = io.onInterrupt(() => {
    if (controller.signal.aborted) return io.exit(exitCodes.interrupted);
    if (line !== null) io.err(line);
    controller.abort();
  });
  return { signal: controller.signal, release };
}
