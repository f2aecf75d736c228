/**
 * Names of records that were read because no run of the index has them (the last few hundred of a topic):
 * a search for another name need not read them again, since a record never changes.
 */
const KEPT_MAX = 4096;

export class Tail {
  readonly #hashes = new Map<number, readonly number[]>();

  /** The names that the record was found to have. */
  note(offset: number, hashes: readonly number[]): void {
    if (this.#hashes.size >= KEPT_MAX) this.#hashes.clear();
    this.#hashes.set(offset, hashes);
  }

  /** The first record from `from` on that is unknown or has one of the names; `to` if there is none. */
  candidate(from: number, to: number, names: ReadonlySet<number>): number {
    let at = from;
    while (at < to && this.#hashes.get(at)?.some((hash) => names.has(hash)) === false) at += 1;
    return at;
  }
}
