/**
 * Which group goes first when generation is scarce: the one due earlier, so that a batch completes while the
 * engine is still busy with the next. A number, lower is earlier: the round, and within it the place in the
 * schedule.
 */
import type { Question } from '../../topics/index.ts';

/** More places than any round has. */
const PLACES = 2 ** 32;

/** The `priority` of a question's requests to the engine. */
export function precedence({ round, schedule }: Question): number {
  return round * PLACES + (schedule?.index ?? 0);
}
