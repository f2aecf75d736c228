/**
 * Outside requests that are made only once: what is cached is not requested again, and a request under way is
 * shared.
 *
 * Guarantees: rollouts that make the same request at the same time make it once and share its outcome.
 * Failures are not kept: the next call tries again.
 */
import type { CachePlace, ToolCache } from './toolCache.ts';

/** The outcome of a request, and whether it may be kept. */
export interface Asked {
  readonly value: string;
  readonly keep: boolean;
}

/** The result, and whether it was cached. */
export interface Known {
  readonly value: string;
  readonly cached: boolean;
}

/** Looks in `cache` (null = none) first, then asks. */
export type AskOnce = (
  place: CachePlace,
  ask: () => Promise<Asked>,
  signal: AbortSignal,
) => Promise<Known>;

/** Asks through a cache; null = nothing is kept, but equal simultaneous requests are still made once. */
export function askOnce(cache: ToolCache | null): AskOnce {
  /** Requests under way; bounded by the tools' own limits of concurrent calls. */
  const asking = new Map<string, Promise<Asked>>();
  return async (place, ask, signal) => {
    const id = JSON.stringify([place.kind, place.scope, place.key]);
    for (;;) {
      signal.throwIfAborted();
      const kept = cache?.get(place);
      if (kept !== undefined) return { value: kept, cached: true };
      const other = asking.get(id);
      if (other === undefined) break;
      // The call that asked first may end for a reason of its own (its signal, for example); then this one
      // asks.
      const said = await other.catch(() => null);
      if (said !== null) return { value: said.value, cached: said.keep };
    }
    const asked = ask();
    asking.set(id, asked);
    try {
      const { value, keep } = await asked;
      if (keep) await cache?.put(place, value);
      return { value, cached: false };
    } finally {
      asking.delete(id);
    }
  };
}
