/**
 * Roughly where a run's steps are in each partition of `metrics`: the step of every so-many-th record is
 * kept. Bounded memory.
 */
import type { Position } from '../../../topics/index.ts';

/** Entries per partition. */
const PLACES_MAX = 4_096;
/**
 * Steps are not perfectly in order (evaluations are late), so this many more places are read on either side.
 */
const SLACK = 2;

/** Records of a partition from one offset up to, but without, another. */
export interface Span {
  readonly partition: number;
  readonly from: number;
  readonly to: number;
}

export class Places {
  readonly #partitions = new Map<number, PartitionPlaces>();

  /** Takes each record once, in the order of its partition. */
  seen({ partition, offset }: Position, step: number): void {
    const places = this.#partitions.get(partition) ?? new PartitionPlaces();
    this.#partitions.set(partition, places);
    places.seen(offset, step);
  }

  /** Where the records of these steps are, possibly among others. */
  around(fromStep: number, toStep: number): readonly Span[] {
    return [...this.#partitions].map(([partition, places]) => ({
      partition,
      ...places.around(fromStep, toStep),
    }));
  }
}

class PartitionPlaces {
  #places: { readonly offset: number; readonly step: number }[] = [];
  #every = 1;
  #seen = 0;
  /** Just after the newest record. */
  #end = 0;

  seen(offset: number, step: number): void {
    this.#end = offset + 1;
    if (this.#seen++ % this.#every !== 0) return;
    this.#places.push({ offset, step });
    if (this.#places.length <= PLACES_MAX) return;
    this.#places = this.#places.filter((_, i) => i % 2 === 0);
    this.#every *= 2;
  }

  around(fromStep: number, toStep: number): { readonly from: number; readonly to: number } {
    const first = this.#places.findIndex(({ step }) => step >= fromStep);
    const last = this.#places.findLastIndex(({ step }) => step <= toStep);
    const from = this.#places[Math.max(0, (first < 0 ? this.#places.length : first) - 1 - SLACK)];
    return { from: from?.offset ?? 0, to: this.#places[last + 1 + SLACK]?.offset ?? this.#end };
  }
}
