/**
 * How far evaluations are, for people watching: held-out questions that are scored, of how many. It counts
 * what it is shown and decides nothing.
 */

/** An evaluation that is under way. */
export interface Measured {
  readonly round: number;
  /** Questions that are scored. */
  readonly done: number;
  readonly of: number;
}

export class Measuring {
  readonly #of: number;
  /** Scored questions of the rounds that are not measured yet. */
  readonly #open = new Map<number, number>();

  /** `of` = questions of an evaluation. */
  constructor(of: number) {
    this.#of = of;
  }

  /** Questions wait for their policy, but for those of the first. */
  asked(round: number): void {
    if (round === 0 && !this.#open.has(0)) this.#open.set(0, 0);
  }

  scored(round: number): void {
    const done = (this.#open.get(round) ?? 0) + 1;
    if (done < this.#of) this.#open.set(round, done);
    else this.#open.delete(round);
  }

  /** The first of those under way; null if there is none. */
  get now(): Measured | null {
    const [round] = [...this.#open.keys()].sort((a, b) => a - b);
    return round === undefined ? null : { round, done: this.#open.get(round)!, of: this.#of };
  }
}
