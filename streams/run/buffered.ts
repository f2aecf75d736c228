/**
 * An Observable as an iterator: what it emits waits, within a bound, until it is taken.
 *
 * An Observable cannot be paused. When `max` items wait and one more comes, it is an error (code
 * `SOURCE_FULL`), or the oldest or the newest of them is dropped and counted, as `overflow` says.
 */
import { type Observable, Subscriber } from 'rxjs';
import { MillraceError } from '../../base/index.ts';

/** What to do with an item for which there is no room. */
export type Overflow = 'fail' | 'dropOldest' | 'dropNewest';

export interface BufferOptions {
  /** Limit of items that wait. */
  readonly max: number;
  readonly overflow: Overflow;
  /** Skips this many as they come; they take no room. */
  readonly skip: number;
  /** Called for each item dropped. */
  readonly dropped: () => void;
}

/** Subscribes at the first `next`, unsubscribes at `return`, even while a `next` waits. */
export function buffered<T>(
  items$: Observable<T>,
  options: BufferOptions,
): AsyncIterableIterator<T> {
  const { max, overflow, dropped } = options;
  const waiting: T[] = [];
  let toSkip = options.skip;
  let end: { readonly error?: unknown } | null = null;
  let wake = (): void => undefined;
  const finish = (how: { readonly error?: unknown }): void => {
    end = how;
    subscriber.unsubscribe();
    wake();
  };
  const add = (item: T): void => {
    if (toSkip > 0) {
      toSkip -= 1;
      return;
    }
    if (waiting.length >= max) {
      if (overflow === 'fail') {
        finish({ error: full(max) });
        return;
      }
      dropped();
      if (overflow === 'dropNewest') return;
      waiting.shift();
    }
    waiting.push(item);
    wake();
  };
  const subscriber = new Subscriber<T>({
    next: add,
    error: (error: unknown) => finish({ error }),
    complete: () => finish({}),
  });
  let subscribed = false;
  return {
    [Symbol.asyncIterator]() {
      return this;
    },
    async next() {
      if (!subscribed) {
        subscribed = true;
        items$.subscribe(subscriber);
      }
      for (;;) {
        if (waiting.length > 0) return { done: false, value: waiting.shift() as T };
        if (end !== null) {
          if ('error' in end) throw end.error;
          return { done: true, value: undefined };
        }
        await new Promise<void>((resolve) => {
          wake = resolve;
        });
      }
    },
    async return() {
      finish({});
      return { done: true, value: undefined };
    },
  };
}

function full(max: number): MillraceError {
  return new MillraceError(
    'SOURCE_FULL',
    `${max} items are waiting and the Observable, which cannot be paused, emits more: use an iterable instead, raise bufferMax, ` +
      "or say which items may be dropped (overflow: 'dropOldest' or 'dropNewest')",
    { context: { bufferMax: max } },
  );
}
