/**
 * Tools that fail now and then: `noisy(callTools(…), …)`.
 *
 * Which calls fail is drawn by origin (rollout and turn), so a run fails the same way every time, and
 * repeating a call may work. A search that fails finds nothing; Python gives an error.
 */
import { draws } from 'millrace';
import type { CallTool } from 'millrace/operators';

/** Share of each tool's calls that fail. */
export const NOISE = 0.1;

/** The result of a failed call. */
export const FAILURES: Readonly<Record<string, { readonly output: string; readonly ok: boolean }>> =
  {
    search: { output: 'No search results found.', ok: true },
    python: { output: 'Error: no answer.', ok: false },
  };

/** Whether a result is that of a failed call. */
export function isFailure(result: string): boolean {
  return Object.values(FAILURES).some(({ output }) => result.trim() === output);
}

/** The same tools, some of whose calls fail. A call without an origin always reaches its tool. */
export function noisy(tools: CallTool, seed: number, share: number = NOISE): CallTool {
  return {
    ...tools,
    async call(tool, input, signal, origin) {
      const failure = FAILURES[tool];
      const stream = origin && draws('quickstart-noise', seed, origin.rolloutId, origin.turn, tool);
      if (!failure || !stream || stream.uniform(0) >= share) {
        return tools.call(tool, input, signal, origin);
      }
      signal.throwIfAborted();
      return { ...failure, attempts: 1, cached: false, ms: 0 };
    },
  };
}
