/**
 * What a group has settled of a topic: a low-water mark, and the offsets above it that are settled too.
 *
 * Everything below `low` is settled. Work finishes out of order, so single offsets above it may be as well;
 * as soon as the gap closes, `low` rises. How many there are is not bounded: one record that is held while
 * others go on keeps all of them above, and each commit writes them all.
 */
export interface ProgressState {
  readonly low: number;
  /** Ascending, each greater than `low`. */
  readonly above: readonly number[];
}

export class Progress {
  #low: number;
  readonly #above: Set<number>;

  constructor(state: ProgressState = { low: 0, above: [] }) {
    this.#low = state.low;
    this.#above = new Set(state.above);
  }

  /** First offset that is not settled. */
  get low(): number {
    return this.#low;
  }

  /** How many offsets are settled. */
  get settled(): number {
    return this.#low + this.#above.size;
  }

  has(offset: number): boolean {
    return offset < this.#low || this.#above.has(offset);
  }

  /** False when it was settled before. */
  settle(offset: number): boolean {
    if (this.has(offset)) return false;
    this.#above.add(offset);
    while (this.#above.delete(this.#low)) this.#low += 1;
    return true;
  }

  toState(): ProgressState {
    return { low: this.#low, above: [...this.#above].sort((a, b) => a - b) };
  }

  copy(): Progress {
    return new Progress(this.toState());
  }
}
