/**
 * The one base of every error that this package throws on purpose.
 *
 * `code` is what a program compares, `message` is what a user reads (what happened, then what to do),
 * `context` is what a bug report needs. To add one: pick a code that no other place uses, in capitals, and
 * throw `new MillraceError('MY_CODE', 'what happened; what to do next', { context, cause })` where it
 * happens. A code has one meaning wherever it is thrown. A subclass is only worth it when it carries
 * behaviour.
 *
 * No secret that the process was given is in a message (secrets.ts).
 */
import { withoutSecrets } from './secrets.ts';
import { nativeMessage, systemMessage } from './system/systemError.ts';

/** What a `MillraceError` carries besides its code and message. */
export interface ErrorDetails {
  /** Plain data: names, numbers, paths. */
  readonly context?: Readonly<Record<string, unknown>>;
  readonly cause?: unknown;
}

/**
 * An error with a code, a message for people and plain data as context. Compare `code` (`hasCode`), never the
 * message.
 */
export class MillraceError<Code extends string = string> extends Error {
  override readonly name = 'MillraceError';
  readonly code: Code;
  readonly context: Readonly<Record<string, unknown>>;

  constructor(code: Code, message: string, details: ErrorDetails = {}) {
    super(withoutSecrets(message), 'cause' in details ? { cause: details.cause } : undefined);
    this.code = code;
    this.context = details.context ?? {};
  }
}

/** Whether `error` is one of ours with this code. */
export function hasCode(error: unknown, code: string): error is MillraceError {
  return error instanceof MillraceError && error.code === code;
}

/** The message of whatever was thrown, without secrets; for system errors a sentence with the path. */
export function messageOf(error: unknown): string {
  if (error instanceof MillraceError) return error.message;
  const own = error instanceof Error ? error.message : String(error);
  return withoutSecrets(systemMessage(error) ?? nativeMessage(own) ?? own);
}
