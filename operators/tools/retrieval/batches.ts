/**
 * Queries of many callers, answered in batches: encoders and indexes are much faster on several queries than
 * on one.
 *
 * Guarantees: at most `batchesMax` batches of at most `batchMax` queries are being answered, and at most
 * `waitingMax` queries wait, first come first served; more are refused, except a request when no query waits,
 * which would otherwise be refused forever. All queries of a batch ask for the same number of passages, so
 * that an answer does not depend on its neighbours. A query whose caller goes away while it waits is never
 * answered; no query waits for others to join it.
 */
import { setMaxListeners } from 'node:events';
import { LruCache, MillraceError } from '../../../base/index.ts';
import type { Hit, Retriever } from './retriever.ts';

export interface BatchesOptions {
  readonly batchMax: number;
  readonly batchesMax: number;
  readonly waitingMax: number;
  /** Cached answers, least recently used dropped first (0 = none). */
  readonly keptMax: number;
  /** Called for every batch. */
  readonly onBatch?: (queries: number) => void;
}

/** Answers, and how many of them were cached. */
export interface Answered {
  readonly hits: readonly (readonly Hit[])[];
  readonly kept: number;
}

interface Waiting {
  readonly query: string;
  readonly top: number;
  readonly signal: AbortSignal;
  readonly done: (hits: readonly Hit[]) => void;
  readonly failed: (error: unknown) => void;
}

export class Batches {
  readonly #retriever: Retriever;
  readonly #options: BatchesOptions;
  readonly #waiting = new Set<Waiting>();
  readonly #kept: LruCache<readonly Hit[]>;
  #running = 0;

  constructor(retriever: Retriever, options: BatchesOptions) {
    this.#retriever = retriever;
    this.#options = options;
    this.#kept = new LruCache(options.keptMax);
  }

  /** Waiting queries. */
  get waiting(): number {
    return this.#waiting.size;
  }

  /** Batches that are being answered. */
  get running(): number {
    return this.#running;
  }

  /**
   * Rejects with code `BUSY` if too many wait, with the signal's reason, or with the retriever's own error.
   */
  async ask(queries: readonly string[], top: number, signal: AbortSignal): Promise<Answered> {
    signal.throwIfAborted();
    const known = queries.map((query) => this.#kept.get(keyOf(query, top)));
    const missing = known.filter((hits) => hits === undefined).length;
    const waiting = this.#waiting.size;
    if (waiting > 0 && waiting + missing > this.#options.waitingMax) {
      throw new MillraceError(
        'BUSY',
        `${this.#waiting.size} queries are already waiting; try again later`,
      );
    }
    // A listener for each query.
    setMaxListeners(0, signal);
    const asked = queries.map((query, i) => known[i] ?? this.#answerTo(query, top, signal));
    this.#fill();
    return { hits: await Promise.all(asked), kept: queries.length - missing };
  }

  #answerTo(query: string, top: number, signal: AbortSignal): Promise<readonly Hit[]> {
    return new Promise((resolve, reject) => {
      const settled = (): void => {
        this.#waiting.delete(one);
        signal.removeEventListener('abort', gone);
      };
      const gone = (): void => one.failed(signal.reason);
      const one: Waiting = {
        ...{ query, top, signal },
        done(hits) {
          settled();
          resolve(hits);
        },
        failed(error) {
          settled();
          reject(error);
        },
      };
      this.#waiting.add(one);
      signal.addEventListener('abort', gone, { once: true });
    });
  }

  /** Starts as many batches as allowed. */
  #fill(): void {
    while (this.#running < this.#options.batchesMax && this.#waiting.size > 0) {
      this.#running++;
      void this.#run(this.#taken()).finally(() => {
        this.#running--;
        this.#fill();
      });
    }
  }

  /** The oldest query, and those after it that ask for as many passages. */
  #taken(): Waiting[] {
    const [{ top } = { top: 0 }] = this.#waiting;
    const batch: Waiting[] = [];
    for (const one of this.#waiting) {
      if (batch.length >= this.#options.batchMax) break;
      if (one.top === top) batch.push(one);
    }
    for (const one of batch) this.#waiting.delete(one);
    return batch;
  }

  async #run(batch: readonly Waiting[]): Promise<void> {
    const queries = [...new Set(batch.map(({ query }) => query))];
    const { top } = batch[0]!;
    this.#options.onBatch?.(queries.length);
    try {
      // Continues as long as it has a caller.
      const hits = await this.#retriever.retrieve(queries, top, allGone(batch));
      const byQuery = new Map(queries.map((query, i) => [query, hits[i] ?? []]));
      for (const [query, found] of byQuery) this.#kept.set(keyOf(query, top), found);
      for (const one of batch) one.done(byQuery.get(one.query)!);
    } catch (error) {
      for (const one of batch) one.failed(error);
    }
  }
}

function keyOf(query: string, top: number): string {
  return `${top} ${query}`;
}

/** Aborted once every caller has gone. */
function allGone(batch: readonly Waiting[]): AbortSignal {
  const controller = new AbortController();
  let there = batch.length;
  for (const { signal } of batch) {
    const gone = (): void => {
      there--;
      if (there === 0) controller.abort();
    };
    if (signal.aborted) gone();
    else signal.addEventListener('abort', gone, { once: true });
  }
  return controller.signal;
}
