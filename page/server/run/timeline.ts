/**
 * Every step of a run by the weights it made, for the page's scrubber and `?at=step:N`.
 *
 * Bounded: when there are too many, every second one is dropped (never the newest), and a step between two
 * that are kept is looked up in the log.
 */
import type { Stored } from '../../../streams/index.ts';
import type { Position, Weights } from '../../../topics/index.ts';

const MARKS_MAX = 65_536;

/** Weights that a step made. */
export interface Mark {
  readonly step: number;
  readonly version: number;
  readonly atMs: number;
  readonly position: Position;
  readonly digest: string | null;
}

export class Timeline {
  #marks: Mark[] = [];
  readonly #max: number;
  total = 0;
  #every = 1;

  constructor(marksMax = MARKS_MAX) {
    this.#max = marksMax;
  }

  add({ value: { step, version, digest }, atMs, position }: Stored<Weights>): void {
    this.total += 1;
    // The newest is always included, and kept when its turn comes.
    if (this.#marks.length > 1 && (this.total - 2) % this.#every !== 0) this.#marks.pop();
    this.#marks.push({ step, version, atMs, position, digest });
    if (this.#marks.length <= this.#max) return;
    this.#every *= 2;
    const last = this.#marks.at(-1)!;
    this.#marks = this.#marks.filter((mark, i) => i % 2 === 0 || mark === last);
  }

  get marks(): readonly Mark[] {
    return this.#marks;
  }

  get newest(): Mark | null {
    return this.#marks.at(-1) ?? null;
  }

  /** The last one kept that is not after this. */
  upTo(isPast: (mark: Mark) => boolean): Mark | null {
    let low = 0;
    let high = this.#marks.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (isPast(this.#marks[middle]!)) high = middle;
      else low = middle + 1;
    }
    return this.#marks[low - 1] ?? null;
  }
}
