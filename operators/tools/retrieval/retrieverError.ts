/** The error for an index that cannot be built or opened: which file, what is wrong with it, what to do. */
import { MillraceError } from '../../../base/index.ts';

export function retrieverError(message: string, path: string, cause?: unknown): MillraceError {
  const rest = cause === undefined ? {} : { cause };
  return new MillraceError('RETRIEVER', message, { context: { path }, ...rest });
}
