/**
 * A tap: the records of a topic as they lie, for anyone who watches. Belongs to no group.
 *
 * Records are read from disk one by one when their turn comes; nothing waits in memory and nothing is
 * skipped. After every `BURST` records the event loop gets its turn, so a long tap starves nobody.
 */
import { Observable } from 'rxjs';
import type { From, Stored, TapOptions } from '../log.ts';

/** What a tap needs of a log: its end, its records, and news of more. */
export interface Tappable<T> {
  end(): number;
  at(offset: number): Stored<T>;
  /** Calls `wake` when there may be more, until the returned function is called. */
  onMore(wake: () => void): () => void;
}

const BURST = 64;

/** The offset that a tap starts at. */
export function startOf(from: From, log: Tappable<unknown>): number {
  const end = log.end();
  switch (from.kind) {
    case 'earliest':
      return 0;
    case 'latest':
      return end;
    case 'offset':
      return Math.max(0, from.offset);
    case 'last':
      return Math.max(0, end - from.count);
    case 'time':
      return firstAt(from.atMs, log);
  }
}

/** First offset whose record is not older than `atMs`: times never fall along a topic. */
function firstAt(atMs: number, log: Tappable<unknown>): number {
  let low = 0;
  let high = log.end();
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (log.at(middle).atMs < atMs) low = middle + 1;
    else high = middle;
  }
  return low;
}

export function tapTopic<T>(log: Tappable<T>, options: TapOptions): Observable<Stored<T>> {
  return new Observable((subscriber) => {
    let next = startOf(options.from, log);
    /** A turn is planned, or running. */
    let busy = false;

    const turn = (): void => {
      try {
        for (let i = 0; i < BURST && next < log.end() && !subscriber.closed; i++) {
          const stored = log.at(next);
          next += 1;
          subscriber.next(stored);
        }
        busy = false;
        if (subscriber.closed) return;
        if (next < log.end()) later();
        else if (!options.follow) subscriber.complete();
      } catch (error) {
        subscriber.error(error);
      }
    };
    const later = (): void => {
      busy = true;
      setImmediate(turn);
    };
    /** News is shown at once: what follows a commit may rely on that. */
    const more = (): void => {
      if (busy) return;
      busy = true;
      turn();
    };
    const silence = log.onMore(more);
    more();
    return silence;
  });
}
