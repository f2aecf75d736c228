/**
 * A number of places. Work that finds none free waits in order; work whose signal aborts while it waits
 * leaves the queue.
 */
import { raceAbort } from './raceAbort.ts';

export class Semaphore {
  /** Those who wait, first come first served. */
  readonly #waiting = new Set<() => void>();
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

  async #enter(signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    if (this.#free > 0) {
      this.#free--;
      return;
    }
    let enter = (): void => undefined;
    const place = new Promise<void>((resolve) => {
      enter = resolve;
    });
    this.#waiting.add(enter);
    try {
      await raceAbort(place, signal);
    } catch (reason) {
      // The place may have been given in the same moment: then it goes to the next.
      if (!this.#waiting.delete(enter)) this.#leave();
      throw reason;
    }
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
