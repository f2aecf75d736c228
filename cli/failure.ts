/**
 * Exit codes, and what the user reads when a command fails.
 *
 * 0 = done (also: stopped by one Ctrl-C, or the reader of a pipe went away), 1 = failed, 2 = wrong command
 * line, 130 = stopped at once by a second Ctrl-C. Our own errors and those of the system (a full disk) are
 * one sentence; unexpected ones come with their stack. MILLRACE_DEBUG=1 shows all stacks and causes.
 */
import { inspect } from 'node:util';
import { CommanderError } from 'commander';
import {
  hasCode,
  MillraceError,
  systemMessage,
  thrownByUser,
  withoutSecrets,
} from '../base/index.ts';

export const exitCodes = { done: 0, failed: 1, usage: 2, interrupted: 130 } as const;

/** The command line was wrong. */
export function usageError(message: string): MillraceError<'USAGE'> {
  return new MillraceError('USAGE', message);
}

/** The exit code of a failed command, and what to print about it (nothing if commander already has). */
export function failure(
  error: unknown,
  env: Readonly<Record<string, string | undefined>> = process.env,
): { readonly code: number; readonly message: string } {
  if (error instanceof CommanderError) {
    return { code: error.exitCode === 0 ? exitCodes.done : exitCodes.usage, message: '' };
  }
  const code = hasCode(error, 'USAGE') ? exitCodes.usage : exitCodes.failed;
  const stack = env.MILLRACE_DEBUG === '1' ? `\n${withoutSecrets(inspect(error))}` : '';
  return { code, message: `error${described(error)}${stack}` };
}

function described(error: unknown): string {
  if (hasCode(error, 'USAGE')) return `: ${error.message}`;
  if (error instanceof MillraceError) return ` (${error.code}): ${error.message}`;
  const text =
    systemMessage(error) ??
    (error instanceof Error ? (thrownByUser(error) ?? error.stack ?? error.message) : error);
  return `: ${withoutSecrets(String(text))}`;
}
