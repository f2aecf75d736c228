/**
 * Merges the records of several topics by time; those of one moment in the order of the queues.
 *
 * An empty queue is waited for until it has reached its end. After that, in a tap that follows, a record
 * waits `patienceMs` for older ones of the other topics, which are only polled at intervals.
 */
import type { Stored } from '../../streams/index.ts';
import type { TopicQueue } from './topicQueue.ts';

/** Wakes whatever waits for a change. */
export class Changes {
  #wake: (() => void)[] = [];

  notify(): void {
    const wake = this.#wake;
    this.#wake = [];
    for (const each of wake) each();
  }

  next(): Promise<void> {
    return new Promise((resolve) => void this.#wake.push(resolve));
  }
}

export interface ByTimeOptions {
  /** Called by the queues. */
  readonly changes: Changes;
  readonly patienceMs: number;
  readonly signal: AbortSignal;
}

/** Ends when every queue has, or when the signal aborts; fails if a queue does. */
export async function* byTime(
  queues: readonly TopicQueue[],
  { changes, patienceMs, signal }: ByTimeOptions,
): AsyncGenerator<Stored<unknown>> {
  const notify = (): void => changes.notify();
  signal.addEventListener('abort', notify);
  try {
    while (!signal.aborted) {
      const changed = changes.next();
      const open = queues.filter((queue) => !queue.over);
      if (open.length === 0) return;
      const first = earliest(open);
      const silent = open.filter((queue) => queue.head === undefined);
      if (first === null || silent.some((queue) => !queue.atEnd)) {
        await changed;
        continue;
      }
      const waitMs = silent.length === 0 ? 0 : first.head!.sinceMs + patienceMs - performance.now();
      if (waitMs > 0) await within(changed, waitMs);
      else yield first.take();
    }
  } finally {
    signal.removeEventListener('abort', notify);
  }
}

function earliest(queues: readonly TopicQueue[]): TopicQueue | null {
  let first: TopicQueue | null = null;
  let firstMs = Number.POSITIVE_INFINITY;
  for (const queue of queues) {
    const atMs = queue.head?.stored.atMs ?? Number.POSITIVE_INFINITY;
    if (atMs < firstMs) [first, firstMs] = [queue, atMs];
  }
  return first;
}

/** Until the promise resolves, but at most this long. */
async function within(promise: Promise<void>, ms: number): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, ms);
  });
  await Promise.race([promise, late]);
  clearTimeout(timer);
}
