/**
 * A tap at the reader's pace. An Observable pushes; here it is cut into pages, and the next page is
 * subscribed to only when the last one has been taken, so a slow pipe holds nothing in memory.
 */
import { type Observable, type Subscription, take } from 'rxjs';
import type { From, Stored } from '../../streams/log.ts';

const pageMax = 256;

interface Page<T> {
  readonly records: readonly Stored<T>[];
  readonly ended: boolean;
}

/** The records from `from` on, one by one; ends with the tap, or when the signal aborts. */
export async function* paced<T>(
  tap: (from: From) => Observable<Stored<T>>,
  from: From,
  signal: AbortSignal,
): AsyncGenerator<Stored<T>> {
  let start = from;
  while (!signal.aborted) {
    const { records, ended } = await nextPage(tap(start), signal);
    yield* records;
    const last = records.at(-1);
    if (ended) return;
    if (last !== undefined) start = { kind: 'offset', offset: last.position.offset + 1 };
  }
}

/** What comes in one go: up to `pageMax` records, or fewer when the tap pauses, ends or is stopped. */
function nextPage<T>(tap$: Observable<Stored<T>>, signal: AbortSignal): Promise<Page<T>> {
  return new Promise((resolve, reject) => {
    const records: Stored<T>[] = [];
    let subscription: Subscription | undefined;
    const turn = (ended: boolean): void => {
      subscription?.unsubscribe();
      signal.removeEventListener('abort', stop);
      resolve({ records, ended });
    };
    const stop = (): void => turn(true);
    signal.addEventListener('abort', stop);
    subscription = tap$.pipe(take(pageMax)).subscribe({
      next(record) {
        if (records.push(record) === 1) setImmediate(() => turn(false));
      },
      error(error) {
        signal.removeEventListener('abort', stop);
        reject(error);
      },
      // A full page also completes; only a short one is the end.
      complete: () => turn(records.length < pageMax),
    });
  });
}
