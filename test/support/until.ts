/**
 * Waits for what the test cannot hear of: what another process does, or a socket, or a file. The limit of the
 * test ends it.
 */
import { setTimeout as pause } from 'node:timers/promises';

type Truthy<Seen> = Exclude<Seen, false | null | undefined>;

/** Looks until there is something to see, and gives that. */
export async function until<Seen>(look: () => Seen | Promise<Seen>): Promise<Truthy<Seen>> {
  for (;;) {
    const seen = await look();
    if (seen) return seen as Truthy<Seen>;
    await pause(5);
  }
}
