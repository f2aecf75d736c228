/**
 * How far evaluations are, for people: how many held-out questions are scored. It counts what it sees and
 * decides nothing.
 */

/** An evaluation under way. */
export interface Measured {
  readonly round: number;
  /** Questions scored. */
  readonly done: number;
  readonly of: number;
}

export class Measuring {
  readonly #of: number;
  /** Scored questions of rounds whose evaluation is not finished. */
  readonly #open = new Map<number, number>();

  /** `of` = questions of an evaluation. */
  constructor(of: number) {
    this.#of = of;
  }

  /** Questions wait for their policy, except those of the first evaluation. */
  asked(round: number): void {
    if (round === 0 && !this.#open.has(0)) this.#open.set(0, 0);
  }

  scored(round: number): void {
    const done = (this.#open.get(round) ?? 0) + 1;
    if (done < this.#of) this.#open.set(round, done);
    else this.#open.delete(round);
  }

  /** The first evaluation under way; null if there is none. */
  get now(): Measured | null {
    const [round] = [...this.#open.keys()].sort((a, b) => a - b);
    return round === undefined ? null : { round, done: this.#open.get(round)!, of: this.#of };
  }
}
