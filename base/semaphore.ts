/**
 * A number of places. Work that finds none free waits in order; work whose signal aborts while it waits
 * leaves the queue.
 */

export interface SemaphoreOptions {
  /** Limit of waiting work; none by default. */
  readonly waitingMax?: number;
  /** Makes the error for work beyond that limit. */
  readonly refused?: (waiting: number) => Error;
}

export class Semaphore {
  readonly #waitingMax: number;
  readonly #refused: (waiting: number) => Error;
  /** Waiting work, first come, first served. */
  readonly #waiting = new Set<() => void>();
  #free: number;

  constructor(places: number, options: SemaphoreOptions = {}) {
    if (!(places >= 1)) throw new RangeError(`a semaphore needs at least 1 permit, not ${places}`);
    this.#free = places;
    this.#waitingMax = options.waitingMax ?? Number.POSITIVE_INFINITY;
    this.#refused = options.refused ?? ((waiting) => new Error(`${waiting} are already waiting`));
  }

  /** Runs `work` once a place is free. Rejects with the signal's reason if it aborts first. */
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
    if (this.#waiting.size >= this.#waitingMax) throw this.#refused(this.#waiting.size);
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
