/** Gathers items that arrive shortly after one another into batches. */
import type { SleepClock } from '../../base/index.ts';

export interface Gathering {
  /** Limit of items per batch. */
  readonly max: number;
  /** How long the first item of a batch waits for others. */
  readonly waitMs: number;
}

/** Batches of items, none empty. Reads at most one item more than a batch holds. */
export async function* gathered<T>(
  items: AsyncIterable<T>,
  { max, waitMs }: Gathering,
  clock: SleepClock,
): AsyncGenerator<readonly T[], void, undefined> {
  const iterator = items[Symbol.asyncIterator]();
  /** Its failure appears when it is awaited. */
  const ask = (): Promise<IteratorResult<T>> => {
    const step = iterator.next();
    step.catch(() => undefined);
    return step;
  };
  let step = ask();
  try {
    for (;;) {
      const first = await step;
      if (first.done === true) return;
      const batch = [first.value];
      const full = new AbortController();
      const late = clock.sleep(waitMs, full.signal).then(
        () => null,
        () => null,
      );
      let ended = false;
      for (step = ask(); batch.length < max; step = ask()) {
        // Items that came before a failure are delivered first.
        const item = await Promise.race([step, late]).catch(() => null);
        if (item === null) break;
        ended = item.done === true;
        if (item.done === true) break;
        batch.push(item.value);
      }
      full.abort();
      yield batch;
      if (ended) return;
    }
  } finally {
    void iterator.return?.();
  }
}
