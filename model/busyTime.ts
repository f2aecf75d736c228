/** How many requests of an engine are pending, and how long at least one was. */
import type { Clock } from '../base/index.ts';

export class BusyTime {
  pending = 0;
  readonly #clock: Clock;
  /** Up to the last time that nothing was pending. */
  #beforeMs = 0;
  #sinceMs = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  get ms(): number {
    return this.#beforeMs + (this.pending > 0 ? this.#clock.now() - this.#sinceMs : 0);
  }

  /** The request's result; the request is pending until then. */
  async during<T>(request: () => Promise<T>): Promise<T> {
    if (this.pending === 0) this.#sinceMs = this.#clock.now();
    this.pending += 1;
    try {
      return await request();
    } finally {
      const ms = this.ms;
      this.pending -= 1;
      if (this.pending === 0) this.#beforeMs = ms;
    }
  }
}
