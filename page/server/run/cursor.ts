/**
 * How far a run's topic `metrics` has been read: the offset vector used as a stream's `id:`. Written
 * `0-812.1-33`.
 */
import type { Position } from '../../../topics/index.ts';

const PARTITIONS_MAX = 1_000;

export class Cursor {
  /** The first unread offset of each partition. */
  readonly #next: Map<number, number>;

  constructor(next: ReadonlyMap<number, number> = new Map()) {
    this.#next = new Map(next);
  }

  /** Null if the text is not a cursor. */
  static parse(text: string): Cursor | null {
    const next = new Map<number, number>();
    if (text === '') return new Cursor();
    const parts = text.split('.');
    if (parts.length > PARTITIONS_MAX) return null;
    for (const part of parts) {
      const [, partition, offset] = /^(\d{1,6})-(\d{1,15})$/.exec(part) ?? [];
      if (partition === undefined) return null;
      next.set(Number(partition), Number(offset));
    }
    return new Cursor(next);
  }

  seen({ partition, offset }: Position): void {
    this.#next.set(partition, offset + 1);
  }

  /** Whether a record comes after it. */
  isBefore({ partition, offset }: Position): boolean {
    return offset >= (this.#next.get(partition) ?? 0);
  }

  get partitions(): ReadonlyMap<number, number> {
    return this.#next;
  }

  copy(): Cursor {
    return new Cursor(this.#next);
  }

  get text(): string {
    return [...this.#next].map(([partition, offset]) => `${partition}-${offset}`).join('.');
  }
}
