/**
 * How many requests may be under way at once, and how many more may wait for that, in order.
 */
import { MillraceError } from '../../streams/errors.ts';

export class Places {
  readonly #waitingMax: number;
  /** Those who wait, first come first served. */
  readonly #waiting = new Set<() => void>();
  #free: number;

  constructor(places: number, waitingMax: number) {
    if (!(places >= 1)) throw new RangeError(`${places} requests at once: allow one or more`);
    this.#free = places;
    this.#waitingMax = waitingMax;
  }

  /**
   * Runs `work` once a place is free. Rejects with the signal's reason when it aborts first, and with code
   * `MODEL_BUSY` when too many wait already.
   */
  async run<T>(work: () => Promise<T>, signal: AbortSignal): Promise<T> {
    await this.#enter(signal);
    try {
      return await work();
    } finally {
      this.#leave();
    }
  }

  #enter(signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    if (this.#free > 0) {
      this.#free--;
      return Promise.resolve();
    }
    if (this.#waiting.size >= this.#waitingMax) {
      throw new MillraceError(
        'MODEL_BUSY',
        `${this.#waiting.size} requests wait for a model server already: start fewer at once, or raise waitingMax`,
      );
    }
    return new Promise((resolve, reject) => {
      const enter = () => {
        signal.removeEventListener('abort', abandon);
        resolve();
      };
      const abandon = () => {
        this.#waiting.delete(enter);
        reject(signal.reason);
      };
      this.#waiting.add(enter);
      signal.addEventListener('abort', abandon, { once: true });
    });
  }

  #leave(): void {
    const [next] = this.#waiting;
    if (next === undefined) {
      this.#free++;
      return;
    }
    this.#waiting.delete(next);
    next();
  }
}
