/** The error for a file or folder whose bytes are not those that were written. */
import { MillraceError } from '../../base/index.ts';

export function digestError(
  file: string,
  expected: string,
  found: string,
): MillraceError<'DIGEST'> {
  return new MillraceError(
    'DIGEST',
    `${file} has digest ${found}, not ${expected}: it was changed or cut short after it was written`,
    { context: { file, expected, found } },
  );
}
