/**
 * Runs one source: appends its items, each chunk together with how many there have been.
 *
 * The count is a mark in the log, so on resume the items that are there already are passed over. At most
 * `CHUNK` items wait for a commit, and none is asked for while the topic's readers are `leadMax` behind.
 */
import { isObservable } from 'rxjs';
import type { Clock } from '../../base/clock.ts';
import { orAborted } from '../../base/orAborted.ts';
import type { Log } from '../log.ts';
import type { Source, SourceItem } from '../stage.ts';
import { topics } from '../topics.ts';
import { buffered } from './buffered.ts';

/** What a source has done and where its time went. Times are in milliseconds, since its process started. */
export interface SourceStats {
  readonly name: string;
  readonly to: string;
  /** Items in the log, those of earlier runs included. */
  readonly items: number;
  /** Items of an Observable for which there was no room. */
  readonly dropped: number;
  readonly done: boolean;
  /** Time that it waited for the readers of its topic, or for the log. */
  readonly waitMs: number;
}

const CHUNK = 64;

export class SourceRunner {
  readonly source: Source;
  readonly #log: Log;
  /** Resolves when the readers of the topic are less than `leadMax` behind. */
  readonly #room: () => Promise<void>;
  readonly #clock: Clock;
  #waitMs = 0;
  /** Set while it waits. */
  #waitsSinceMs: number | null = null;
  #items = 0;
  #dropped = 0;
  #done = false;
  #waiting: SourceItem<unknown>[] = [];
  /** Never rejects: a failure aborts `#broken`. */
  #committing: Promise<void> | null = null;
  /** Aborted by a commit that failed, with its error: nothing is taken or committed after it. */
  readonly #broken = new AbortController();

  constructor(source: Source, log: Log, clock: Clock, room: () => Promise<void>) {
    this.source = source;
    this.#log = log;
    this.#clock = clock;
    this.#room = room;
  }

  get done(): boolean {
    return this.#done;
  }

  stats(): SourceStats {
    const { name, to } = this.source;
    const sinceMs = this.#waitsSinceMs;
    const waitMs = this.#waitMs + (sinceMs === null ? 0 : this.#clock.now() - sinceMs);
    return {
      name,
      to: to.name,
      items: this.#items,
      dropped: this.#dropped,
      done: this.#done,
      waitMs,
    };
  }

  /** Until the items end or `signal` aborts. What was taken is committed, also when the items fail. */
  async run(signal: AbortSignal): Promise<void> {
    this.#items = await this.#log.mark(this.#markName);
    let ended = false;
    try {
      ended = await this.#takeAll(AbortSignal.any([signal, this.#broken.signal]));
    } finally {
      await this.#committing;
    }
    this.#broken.signal.throwIfAborted();
    this.#done = ended;
  }

  /** False when `signal` aborted first. */
  async #takeAll(signal: AbortSignal): Promise<boolean> {
    const skip = this.source.onResume === 'skip' ? this.#items : 0;
    const iterator = itemsOf(this.source, skip, () => {
      this.#dropped += 1;
    });
    const aborted = orAborted(signal);
    try {
      while (!signal.aborted) {
        const step = await aborted.wait(iterator.next());
        if (step === null) break;
        if (step.done === true) return true;
        await this.#take(step.value);
      }
    } finally {
      aborted.forget();
    }
    // A source that is stuck in its own waiting is not waited for.
    void iterator.return?.().catch(() => undefined);
    return false;
  }

  get #markName(): string {
    return `source/${this.source.name}`;
  }

  async #take(item: SourceItem<unknown>): Promise<void> {
    if (this.#broken.signal.aborted) return;
    this.#waiting.push(item);
    this.#committing ??= this.#commitWaiting();
    if (this.#waiting.length < CHUNK) return;
    this.#waitsSinceMs = this.#clock.now();
    await this.#committing;
    await this.#room();
    this.#waitMs += this.#clock.now() - this.#waitsSinceMs;
    this.#waitsSinceMs = null;
  }

  async #commitWaiting(): Promise<void> {
    try {
      await Promise.resolve();
      while (this.#waiting.length > 0) {
        const chunk = this.#waiting;
        this.#waiting = [];
        const items = this.#items + chunk.length;
        await this.#log.commit((tx) => {
          for (const item of chunk) {
            if ('value' in item) tx.append(this.source.to, item.value);
            else tx.append(topics.deadLetters, item.deadLetter);
          }
          tx.mark(this.#markName, items);
        });
        this.#items = items;
      }
    } catch (error) {
      this.#broken.abort(error);
    } finally {
      this.#committing = null;
    }
  }
}

/** The items of a source but for the first `skip`; `dropped` is called for each that an Observable had no room for. */
export function itemsOf(
  { items, bufferMax, overflow }: Source,
  skip = 0,
  dropped = (): void => undefined,
): AsyncIterableIterator<SourceItem<unknown>> {
  if (!isObservable(items)) return iterate(items, skip);
  return buffered(items, { max: bufferMax, overflow, skip, dropped });
}

type Iterables = Iterable<SourceItem<unknown>> | AsyncIterable<SourceItem<unknown>>;

async function* iterate(items: Iterables, skip: number): AsyncGenerator<SourceItem<unknown>> {
  let toSkip = skip;
  for await (const item of items) {
    if (toSkip > 0) toSkip -= 1;
    else yield item;
  }
}
