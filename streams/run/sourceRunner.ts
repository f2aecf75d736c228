/**
 * Runs one source: appends its items, each chunk together with their count so far.
 *
 * The count is a mark in the log, so on resume the items that are there already are skipped. If the source
 * says where it is, the cursors after a chunk are marks too, and it continues after them. At most `CHUNK`
 * items wait for a commit, and none is requested while the topic's readers are `leadMax` behind.
 */
import { isObservable, type Observable } from 'rxjs';
import { type Clock, orAborted } from '../../base/index.ts';
import { deadLetters } from '../deadLetters.ts';
import type { Log } from '../log.ts';
import { type Beside, isResumable, type ResumableItem, type ResumableItems } from '../resumable.ts';
import { BUFFER_MAX, type PlainItems, type Source, type SourceItem } from '../stage.ts';
import { buffered } from './buffered.ts';

/** What a source has done and where its time went. Times are in milliseconds since its process started. */
export interface SourceStats {
  readonly name: string;
  readonly to: string;
  /** Items in the log, including those of earlier starts. */
  readonly items: number;
  /** Items of an Observable for which there was no room. */
  readonly dropped: number;
  readonly done: boolean;
  /** Time spent waiting for the readers of its topic, or for the log. */
  readonly waitMs: number;
}

const CHUNK = 64;

/** What a source yields: an item, an item with its place, or a place alone. */
type Taken = SourceItem<unknown> | ResumableItem<unknown>;

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
  #waiting: Taken[] = [];
  /** Items taken since the readers were last looked at. */
  #sinceRoom = 0;
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

  /** Runs until the items end or `signal` aborts. What was taken is committed, even if the items fail. */
  async run(signal: AbortSignal): Promise<void> {
    this.#items = Number(await this.#log.mark(this.#markName));
    let ended = false;
    try {
      ended = await this.#takeAll(AbortSignal.any([signal, this.#broken.signal]));
    } finally {
      await this.#committing;
    }
    this.#broken.signal.throwIfAborted();
    this.#done = ended;
  }

  /** False if `signal` aborted first. */
  async #takeAll(signal: AbortSignal): Promise<boolean> {
    const iterator = await this.#open(signal);
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
    // Does not wait for a source that is stuck in a wait of its own.
    void iterator.return?.().catch(() => undefined);
    return false;
  }

  async #open(signal: AbortSignal): Promise<AsyncIterableIterator<Taken>> {
    const { items, onResume } = this.source;
    const dropped = (): void => {
      this.#dropped += 1;
    };
    if (!isResumable(items)) {
      const skip = onResume === 'skip' ? this.#items : 0;
      return itemsOf({ ...this.source, items }, skip, dropped);
    }
    const cursor = async (part: string): Promise<string | null> => {
      const last = await this.#log.mark(this.#cursorName(part));
      return typeof last === 'string' ? last : null;
    };
    const opened = await items.open({ cursor, signal });
    return iterated({ ...this.source, items: opened }, 0, dropped);
  }

  get #markName(): string {
    return `source/${this.source.name}`;
  }

  #cursorName(part: string): string {
    return `cursor/${this.source.name}/${part}`;
  }

  async #take(item: Taken): Promise<void> {
    if (this.#broken.signal.aborted) return;
    this.#waiting.push(item);
    this.#sinceRoom += 1;
    this.#committing ??= this.#commitWaiting();
    if (this.#sinceRoom < CHUNK) return;
    this.#sinceRoom = 0;
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
        const records = chunk.filter((item) => 'value' in item || 'deadLetter' in item);
        const items = this.#items + records.length;
        await this.#log.commit((tx) => {
          for (const item of chunk) {
            if ('value' in item) tx.append(this.source.to, item.value);
            else if ('deadLetter' in item) tx.append(deadLetters, item.deadLetter);
            for (const { topic, value } of alsoOf(item)) tx.append(topic, value);
          }
          if (records.length > 0) tx.mark(this.#markName, items);
          for (const [part, cursor] of cursorsBehind(chunk))
            tx.mark(this.#cursorName(part), cursor);
        });
        this.#items = items;
        for (const item of chunk) if ('at' in item) item.committed?.();
      }
    } catch (error) {
      this.#broken.abort(error);
    } finally {
      this.#committing = null;
    }
  }
}

/** A source of plain items, or a resumable one that is open. */
type Given<T> = Pick<Source, 'bufferMax' | 'overflow'> & {
  readonly items: Iterable<T> | AsyncIterable<T> | Observable<T>;
};

/**
 * The items of a source except for the first `skip`; `dropped` is called for each that an Observable had no
 * room for.
 */
export const itemsOf: (
  source: Pick<Source, 'bufferMax' | 'overflow'> & { readonly items: PlainItems<unknown> },
  skip?: number,
  dropped?: () => void,
) => AsyncIterableIterator<SourceItem<unknown>> = iterated;

/** The items of an open resumable source, on demand. */
export function pulled<T>(items: ResumableItems<T>): AsyncIterableIterator<ResumableItem<T>> {
  return iterated({ items, bufferMax: BUFFER_MAX, overflow: 'fail' });
}

function iterated<T>(
  { items, bufferMax, overflow }: Given<T>,
  skip = 0,
  dropped = (): void => undefined,
): AsyncIterableIterator<T> {
  if (!isObservable(items)) return iterate(items, skip);
  return buffered(items, { max: bufferMax, overflow, skip, dropped });
}

async function* iterate<T>(items: Iterable<T> | AsyncIterable<T>, skip: number): AsyncGenerator<T> {
  let toSkip = skip;
  for await (const item of items) {
    if (toSkip > 0) toSkip -= 1;
    else yield item;
  }
}

function alsoOf(item: Taken): readonly Beside[] {
  return 'at' in item ? (item.also ?? []) : [];
}

/** The last cursor of each part that these items advanced. */
function cursorsBehind(chunk: readonly Taken[]): ReadonlyMap<string, string> {
  return new Map(chunk.flatMap((item) => ('at' in item ? Object.entries(item.at) : [])));
}
