/**
 * A tap: the records of a topic as they lie, for anyone who watches. Belongs to no group.
 *
 * Records are read from disk one by one when their turn comes; nothing waits in memory and nothing is
 * skipped. After every `BURST` records the event loop gets its turn, so a long tap starves nobody, and the reader is
 * asked whether it has room for more.
 */
import { Observable } from 'rxjs';
import { MillraceError } from '../errors.ts';
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

    const stretch = (): void => {
      for (let i = 0; i < BURST && next < log.end() && !subscriber.closed; i++) {
        const stored = readable(log, next, options);
        next += 1;
        if (stored !== null) subscriber.next(stored);
      }
    };
    const turn = (): void => {
      try {
        if (subscriber.closed) return;
        stretch();
        busy = false;
        if (subscriber.closed) return;
        options.ahead?.(log.end() - next);
        if (next < log.end()) later();
        else if (!options.follow) subscriber.complete();
      } catch (error) {
        subscriber.error(error);
      }
    };
    /** A turn as soon as there is room. */
    const begin = (): void => {
      const room = options.room?.() ?? null;
      if (room === null) turn();
      else room.then(turn, (error: unknown) => subscriber.error(error));
    };
    const later = (): void => {
      busy = true;
      setImmediate(begin);
    };
    /** News is shown at once: what follows a commit may rely on that. */
    const more = (): void => {
      if (busy) return;
      busy = true;
      begin();
    };
    const silence = log.onMore(more);
    more();
    return silence;
  });
}

/** Null when it cannot be read and the tap goes on all the same. */
function readable<T>(
  log: Tappable<T>,
  offset: number,
  { unreadable }: TapOptions,
): Stored<T> | null {
  try {
    return log.at(offset);
  } catch (error) {
    if (unreadable === undefined || !(error instanceof MillraceError)) throw error;
    unreadable({ partition: 0, offset }, error);
    return null;
  }
}
