/**
 * A bounded map that forgets the least recently used entry.
 */
export class LruCache<Value> {
  readonly #entries = new Map<string, Value>();
  readonly #entriesMax: number;

  /** Keeps at most `entriesMax` values; 0 keeps none. */
  constructor(entriesMax: number) {
    if (!(entriesMax >= 0))
      throw new RangeError(`a cache cannot have ${entriesMax} entries; give 0 or more`);
    this.#entriesMax = entriesMax;
  }

  delete(key: string): void {
    this.#entries.delete(key);
  }

  get size(): number {
    return this.#entries.size;
  }

  /** The value, which counts as used now; undefined if it does not exist. */
  get(key: string): Value | undefined {
    const value = this.#entries.get(key);
    if (value === undefined) return undefined;
    this.#entries.delete(key);
    this.#entries.set(key, value);
    return value;
  }

  set(key: string, value: Value): void {
    this.#entries.delete(key);
    this.#entries.set(key, value);
    for (const oldest of this.#entries.keys()) {
      if (this.#entries.size <= this.#entriesMax) break;
      this.#entries.delete(oldest);
    }
  }
}
