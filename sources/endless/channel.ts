/**
 * A bounded queue between a producer that does not wait and a consumer that asks: an item without room is
 * either refused or waits.
 */
export class Channel<T> {
  readonly #max: number;
  readonly #waiting: T[] = [];
  #failure: { readonly error: unknown } | null = null;
  #changed: (() => void)[] = [];

  constructor(max: number) {
    this.#max = max;
  }

  get room(): number {
    return this.#max - this.#waiting.length;
  }

  /** False if there is no room. */
  offer(item: T): boolean {
    if (this.room <= 0) return false;
    this.#waiting.push(item);
    this.#tell();
    return true;
  }

  /** Resolves when an item has been put in or taken out. */
  changed(): Promise<void> {
    return new Promise((resolve) => this.#changed.push(resolve));
  }

  /** The next `take` gets this error. */
  fail(error: unknown): void {
    this.#failure ??= { error };
    this.#tell();
  }

  /** Takes an item back out; false if it has already been taken. */
  withdraw(item: T): boolean {
    const place = this.#waiting.indexOf(item);
    if (place < 0) return false;
    this.#waiting.splice(place, 1);
    this.#tell();
    return true;
  }

  /** The items as they come, until the signal aborts. */
  async *items(signal: AbortSignal): AsyncGenerator<T, void> {
    const wake = (): void => this.#tell();
    signal.addEventListener('abort', wake);
    try {
      while (!signal.aborted) {
        if (this.#waiting.length > 0) {
          const item = this.#waiting.shift() as T;
          this.#tell();
          yield item;
        } else if (this.#failure !== null) throw this.#failure.error;
        else await this.changed();
      }
    } finally {
      signal.removeEventListener('abort', wake);
    }
  }

  #tell(): void {
    const all = this.#changed;
    this.#changed = [];
    for (const tell of all) tell();
  }
}
