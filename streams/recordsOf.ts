/**
 * The records of a topic as an async iterable: read on demand.
 *
 * A tap pushes; this pulls. What replays a topic into a source uses it, so that a long topic is never in
 * memory: the tap is given room for its next stretch once the last one has been taken.
 */
import { fromEvent, Subscription } from 'rxjs';
import type { From, Log, Stored, TapOptions } from './log.ts';
import type { Topic } from './topic.ts';

/** Where `recordsOf` begins, and whether it waits for more at the end. */
export interface RecordsOptions {
  readonly from: From;
  /** Wait at the end for more, until this signal aborts; without it the iterable ends there. */
  readonly followUntil?: AbortSignal;
  /** As for a tap: called for a record that cannot be read, which is then skipped. */
  readonly unreadable?: TapOptions['unreadable'];
}

/**
 * The records of `topic` in log order, read on demand. Throws what a tap would, `DECODE` for
 * instance.
 */
export async function* recordsOf<T>(
  log: Log,
  topic: Topic<T>,
  options: RecordsOptions,
): AsyncGenerator<Stored<T>, void, undefined> {
  const stretch = new Stretch(log, topic, options);
  try {
    while (await stretch.more()) yield stretch.take();
  } finally {
    stretch.end();
  }
}

/** What a tap has delivered and the reader has not taken. */
class Stretch<T> {
  readonly #waiting: Stored<T>[] = [];
  readonly #until: AbortSignal | undefined;
  readonly #subscription = new Subscription();
  #ahead = Number.POSITIVE_INFINITY;
  #failure: { readonly error: unknown } | null = null;
  #complete = false;
  #changed = (): void => undefined;
  /** Gives the tap room. */
  #drained = (): void => undefined;

  constructor(log: Log, topic: Topic<T>, { from, followUntil, unreadable }: RecordsOptions) {
    this.#until = followUntil;
    if (followUntil !== undefined) {
      this.#subscription.add(fromEvent(followUntil, 'abort').subscribe(() => this.#changed()));
    }
    const tap$ = log.tap(topic, {
      from,
      follow: followUntil !== undefined,
      ...(unreadable === undefined ? {} : { unreadable }),
      room: () => (this.#waiting.length === 0 ? null : this.#drain()),
      ahead: (records) => {
        this.#ahead = records;
        this.#changed();
      },
    });
    const over = (): void => {
      this.#complete = true;
      this.#changed();
    };
    this.#subscription.add(
      tap$.subscribe({
        next: (stored) => {
          this.#waiting.push(stored);
          this.#changed();
        },
        error: (error) => {
          this.#failure = { error };
          over();
        },
        complete: over,
      }),
    );
  }

  /** Waits for a record to take; false if none will come. */
  async more(): Promise<boolean> {
    while (this.#waiting.length === 0) {
      if (this.#failure !== null) throw this.#failure.error;
      if (this.#complete || (this.#until?.aborted === true && this.#ahead === 0)) return false;
      await new Promise<void>((resolve) => {
        this.#changed = resolve;
      });
    }
    return true;
  }

  take(): Stored<T> {
    const taken = this.#waiting.shift()!;
    if (this.#waiting.length === 0) this.#drained();
    return taken;
  }

  end(): void {
    this.#subscription.unsubscribe();
    this.#drained(); // a tap that waits for room sees that no one listens
  }

  #drain(): Promise<void> {
    return new Promise((resolve) => {
      this.#drained = resolve;
    });
  }
}
