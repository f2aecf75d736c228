/** How many threads to use when no number is given. */
import { availableParallelism } from 'node:os';

/** Half of what the machine has, at least one: the other half is the rest of the job's. */
export function halfOfThem(): number {
  return Math.max(1, availableParallelism() >> 1);
}
