/** What every log says to who uses it wrongly. */
import { MillraceError } from '../base/index.ts';

export function closedLog(): MillraceError<'CLOSED'> {
  return new MillraceError('CLOSED', 'this log is closed; open it again');
}

export function readOnlyLog(): MillraceError<'READ_ONLY'> {
  return new MillraceError(
    'READ_ONLY',
    "this log was opened read-only; open it with mode 'write' to read in a group or commit",
  );
}
