/**
 * A tap: the records of a topic as stored, for anyone who watches. Belongs to no group.
 *
 * Records are read from disk one by one when their turn comes; nothing waits in memory and nothing is
 * skipped. After every `BURST` records the event loop gets its turn, so a long tap starves no one, and the
 * reader is asked whether it has room for more.
 */
import { Observable } from 'rxjs';
import { hasCode, MillraceError } from '../../base/index.ts';
import type { Encoded, From, Stored, TapOptions } from '../log.ts';

/** What a tap needs from a log: its end, its records, and notice of new ones. */
export interface Tappable<T> {
  end(): number;
  at(offset: number): Stored<T>;
  /** Fails with code `DAMAGED`. */
  timeAt(offset: number): number;
  encodedAt(offset: number): Encoded;
  /**
   * For a tap on some records only: the first from `offset` on that may match, or `end`; and whether one
   * does.
   */
  candidate?(offset: number, end: number): number;
  shows?(stored: Stored<T>): boolean;
  /** Gives other work its turn first; that of the event loop unless given. */
  later?(act: () => void): void;
  /** Calls `wake` when there may be more, until the returned function is called. */
  onMore(wake: () => void): () => void;
}

const BURST = 64;

/** The offset of a place. */
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

/**
 * First offset whose record is not older than `atMs`: times never fall along a topic. Damaged records have
 * none.
 */
function firstAt(atMs: number, log: Tappable<unknown>): number {
  let low = 0;
  let high = log.end();
  while (low < high) {
    const middle = (low + high) >>> 1;
    let whole = middle;
    let foundMs: number | null = null;
    for (; whole < high && foundMs === null; whole++) {
      foundMs = unlessDamaged(() => log.timeAt(whole));
    }
    if (foundMs !== null && foundMs < atMs) low = whole;
    else high = middle;
  }
  return low;
}

export function tapTopic<T>(log: Tappable<T>, options: TapOptions): Observable<Stored<T>> {
  return new Observable((subscriber) => {
    const { from, to, follow } = options;
    onlyPartition(options);
    let next = startOf(from, log);
    const stop = to === undefined ? null : Math.min(startOf(to, log), log.end());
    const end = (): number => stop ?? log.end();
    /** A turn is planned, or running. */
    let busy = false;

    const stretch = (): void => {
      // Asking for the end costs as much as reading a record.
      let last = end();
      for (let i = 0; i < BURST && !subscriber.closed; i++) {
        if (next >= last) last = end();
        if (next >= last) return;
        next = log.candidate?.(next, last) ?? next;
        if (next >= last) continue;
        const stored = readable(log, next, options);
        next += 1;
        if (stored !== null && log.shows?.(stored) !== false) subscriber.next(stored);
      }
    };
    const turn = (): void => {
      try {
        if (subscriber.closed) return;
        stretch();
        busy = false;
        if (subscriber.closed) return;
        options.ahead?.(Math.max(0, end() - next));
        if (next < end()) later();
        else if (!follow || stop !== null) subscriber.complete();
      } catch (error) {
        subscriber.error(error);
      }
    };
    /** Runs a turn as soon as there is room. */
    const begin = (): void => {
      const room = options.room?.() ?? null;
      if (room === null) turn();
      else room.then(turn, (error: unknown) => subscriber.error(error));
    };
    const later = (): void => {
      busy = true;
      (log.later ?? setImmediate)(begin);
    };
    /** New records are shown at once: what follows a commit may rely on that. */
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

/** Null when it cannot be read and the tap goes on anyway. */
function readable<T>(
  log: Tappable<T>,
  offset: number,
  { unreadable, encoded }: TapOptions,
): Stored<T> | null {
  try {
    const stored = log.at(offset);
    return encoded === true ? { ...stored, encoded: log.encodedAt(offset) } : stored;
  } catch (error) {
    if (unreadable === undefined || !(error instanceof MillraceError)) throw error;
    const bytes = unlessDamaged(() => log.encodedAt(offset));
    unreadable({ partition: 0, offset }, error, bytes);
    return null;
  }
}

function unlessDamaged<T>(read: () => T): T | null {
  try {
    return read();
  } catch (error) {
    if (hasCode(error, 'DAMAGED')) return null;
    throw error;
  }
}

function onlyPartition({ partitions = [] }: TapOptions): void {
  const other = partitions.find((partition) => partition !== 0);
  if (other === undefined) return;
  throw new MillraceError(
    'NOT_FOUND',
    `there is no partition ${other}: a log in a folder has only partition 0`,
    { context: { partition: other } },
  );
}
