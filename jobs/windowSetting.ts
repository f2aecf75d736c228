/** The setting `window`: the number of candidates in a round, or the time for them. */
import { z } from 'zod';
import { MillraceError } from '../base/index.ts';
import { durationMs } from '../base/text/index.ts';

const COUNT = 'count';

/** `count`, or a duration. */
export const windowSetting = z
  .string()
  .refine((text) => text === COUNT || (durationMs(text) ?? 0) > 0, {
    error: 'expected count or a duration such as 90s, 10m, 1h, 2d',
  })
  .default(COUNT)
  .describe(
    'candidates of a round: as many as explore says (count), or those that arrive within a duration after the first (such as 10m), at most explore',
  );

/**
 * How long a round takes candidates; null = until it has all. `train` = questions to train on.
 *
 * @throws code `USAGE` if the questions are all there: they would all come at once.
 */
export function windowLengthMs(window: string, train: number): number | null {
  if (window === COUNT) return null;
  if (train === Number.POSITIVE_INFINITY) return durationMs(window);
  throw new MillraceError(
    'USAGE',
    `window=${window} divides questions by arrival time and needs an endless source (questions=follow:…, listen:… or kafka://…); with a file, explore alone sets the size of a round`,
  );
}
