/**
 * The records of several topics in the order of their time; those of one moment in the order of the lanes.
 *
 * A lane with nothing to show is waited for until it has reached its end. Past that, in a tap that follows, a
 * record waits `holdMs` for older ones of the other topics, which are looked at only so often.
 */
import type { Stored } from '../../streams/log.ts';
import type { Lane } from './lane.ts';

/** Wakes those that wait for a change. */
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
  /** Notified by the lanes. */
  readonly changes: Changes;
  readonly holdMs: number;
  readonly signal: AbortSignal;
}

/** Ends when every lane has, or when the signal aborts; fails as a lane does. */
export async function* byTime(
  lanes: readonly Lane[],
  { changes, holdMs, signal }: ByTimeOptions,
): AsyncGenerator<Stored<unknown>> {
  const notify = (): void => changes.notify();
  signal.addEventListener('abort', notify);
  try {
    while (!signal.aborted) {
      const changed = changes.next();
      const open = lanes.filter((lane) => !lane.over);
      if (open.length === 0) return;
      const first = earliest(open);
      const silent = open.filter((lane) => lane.head === undefined);
      if (first === null || silent.some((lane) => !lane.atEnd)) {
        await changed;
        continue;
      }
      const waitMs = silent.length === 0 ? 0 : first.head!.sinceMs + holdMs - performance.now();
      if (waitMs > 0) await within(changed, waitMs);
      else yield first.take();
    }
  } finally {
    signal.removeEventListener('abort', notify);
  }
}

function earliest(lanes: readonly Lane[]): Lane | null {
  let first: Lane | null = null;
  let firstMs = Number.POSITIVE_INFINITY;
  for (const lane of lanes) {
    const atMs = lane.head?.stored.atMs ?? Number.POSITIVE_INFINITY;
    if (atMs < firstMs) [first, firstMs] = [lane, atMs];
  }
  return first;
}

/** Until the promise resolves, or so long. */
async function within(promise: Promise<void>, ms: number): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, ms);
  });
  await Promise.race([promise, late]);
  clearTimeout(timer);
}
