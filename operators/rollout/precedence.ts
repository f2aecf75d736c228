/**
 * Who goes first when generation is scarce: the group that is due earlier, so that a batch is complete while
 * the engine is still busy with the next one. A number, lower is earlier: the round, and in it the place in
 * the schedule.
 */
import type { Question } from '../../topics/index.ts';

/** More places than a round has. */
const PLACES = 2 ** 32;

/** The `priority` of a question's requests to the engine. */
export function precedence({ round, schedule }: Question): number {
  return round * PLACES + (schedule?.index ?? 0);
}
