/**
 * A number of places. Work that finds none free waits in order; work whose signal aborts while it waits
 * leaves the queue.
 */
interface Waiter {
  enter(): void;
}

export class Semaphore {
  readonly #waiting: Waiter[] = [];
  #free: number;

  constructor(places: number) {
    if (!(places >= 1)) throw new RangeError(`a semaphore of ${places} places; give 1 or more`);
    this.#free = places;
  }

  /** Runs `work` when a place is free. Rejects with the signal's reason when it aborts first. */
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
    return new Promise((resolve, reject) => {
      const leave = () => {
        this.#waiting.splice(this.#waiting.indexOf(waiter), 1);
        reject(signal.reason);
      };
      const waiter: Waiter = {
        enter: () => {
          signal.removeEventListener('abort', leave);
          resolve();
        },
      };
      signal.addEventListener('abort', leave, { once: true });
      this.#waiting.push(waiter);
    });
  }

  #leave(): void {
    const next = this.#waiting.shift();
    if (next) next.enter();
    else this.#free++;
  }
}
