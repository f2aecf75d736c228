/**
 * What a group has settled of a topic: a low-water mark, and the stretches above it that are settled too.
 *
 * Everything below `low` is settled. Work finishes out of order, so offsets above it may be as well; as soon
 * as the gap closes, `low` rises. There are never more stretches than records that are open at once, however
 * long one of them is held.
 */
export interface ProgressState {
  readonly low: number;
  /**
   * Ascending and apart, each beginning after `low`. Older logs have each offset by itself.
   */
  readonly above: readonly (Stretch | number)[];
}

/** Offsets from the first to before the last. */
export type Stretch = readonly [from: number, to: number];

export class Progress {
  #low: number;
  readonly #above: Stretch[] = [];
  /** Offsets in `#above`. */
  #count = 0;

  constructor({ low, above }: ProgressState = { low: 0, above: [] }) {
    this.#low = low;
    for (const each of above) this.#add(typeof each === 'number' ? [each, each + 1] : each);
  }

  /** First offset that is not settled. */
  get low(): number {
    return this.#low;
  }

  /** How many offsets are settled. */
  get settled(): number {
    return this.#low + this.#count;
  }

  has(offset: number): boolean {
    if (offset < this.#low) return true;
    const before = this.#above[this.#placeOf(offset) - 1];
    return before !== undefined && offset < before[1];
  }

  /** False if it was already settled. */
  settle(offset: number): boolean {
    if (this.has(offset)) return false;
    this.#add([offset, offset + 1]);
    const [first] = this.#above;
    if (first?.[0] !== this.#low) return true;
    this.#above.shift();
    this.#low = first[1];
    this.#count -= first[1] - first[0];
    return true;
  }

  toState(): ProgressState {
    return { low: this.#low, above: [...this.#above] };
  }

  copy(): Progress {
    return new Progress(this.toState());
  }

  /** Index of the first stretch that begins after the offset. */
  #placeOf(offset: number): number {
    let low = 0;
    let high = this.#above.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (this.#above[middle]![0] > offset) high = middle;
      else low = middle + 1;
    }
    return low;
  }

  /** Joins it with its neighbours, which it does not overlap. */
  #add([from, to]: Stretch): void {
    const place = this.#placeOf(from);
    const [before, after] = [this.#above[place - 1], this.#above[place]];
    const [joinsBefore, joinsAfter] = [before?.[1] === from, after?.[0] === to];
    this.#above.splice(joinsBefore ? place - 1 : place, Number(joinsBefore) + Number(joinsAfter), [
      joinsBefore ? before![0] : from,
      joinsAfter ? after![1] : to,
    ]);
    this.#count += to - from;
  }
}
