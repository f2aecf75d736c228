/**
 * Exit codes, and what a person reads when a command fails.
 *
 * 0 = done (also: stopped by one Ctrl-C, or the reader of a pipe went away), 1 = failed, 2 = the command
 * line was wrong, 130 = stopped at once by a second Ctrl-C. Errors of ours are told by their message; what
 * nobody foresaw comes with its stack.
 */
import { CommanderError } from 'commander';
import { hasCode, MillraceError } from '../base/errors.ts';
import { withoutSecrets } from '../base/secrets.ts';

export const exitCodes = { done: 0, failed: 1, usage: 2, interrupted: 130 } as const;

/** The command line was wrong. */
export function usageError(message: string): MillraceError<'USAGE'> {
  return new MillraceError('USAGE', message);
}

/** The exit code of a failed command, and what to say about it (nothing where commander has spoken). */
export function failure(error: unknown): { readonly code: number; readonly message: string } {
  if (error instanceof CommanderError) {
    return { code: error.exitCode === 0 ? exitCodes.done : exitCodes.usage, message: '' };
  }
  if (hasCode(error, 'USAGE')) return { code: exitCodes.usage, message: `error: ${error.message}` };
  if (error instanceof MillraceError) {
    return { code: exitCodes.failed, message: `error (${error.code}): ${error.message}` };
  }
  const text = error instanceof Error ? (error.stack ?? error.message) : String(error);
  return { code: exitCodes.failed, message: `error: ${withoutSecrets(text)}` };
}
