/**
 * Leads a tap to the records that may match. Where the index says nothing, it leads to every record, one by
 * one, and says so: no record is missed because the index lacks it.
 */
import type { Unindexed } from '../../log.ts';
import type { LogStore } from '../store.ts';
import { hashOf, type Run } from './entries.ts';
import { hitsIn, runsOf } from './keyRuns.ts';
import type { Tail } from './tail.ts';

export interface Asked {
  readonly topic: string;
  readonly names: readonly string[];
  readonly tail: Tail;
  /** Called for each stretch that must be read record by record. */
  readonly unindexed?: ((stretch: Unindexed) => void) | undefined;
}

/** Which of the records up to `to` may match; null = any. */
interface Stretch {
  readonly to: number;
  readonly hits: readonly number[] | null;
}

export class KeyReader {
  readonly #store: LogStore;
  readonly #asked: Asked;
  readonly #hashes: ReadonlySet<number>;
  #runs: readonly Run[] | null;
  #stretch: Stretch = { to: 0, hits: [] };
  /** Of the stretch's hits, the first that is not before it. */
  #next = 0;

  constructor(store: LogStore, asked: Asked) {
    this.#store = store;
    this.#asked = asked;
    this.#hashes = new Set(asked.names.map(hashOf));
    this.#runs = runsOf(store, asked.topic);
  }

  /** The first record from `offset` on that may match; `end` if there is none before it. */
  candidate(offset: number, end: number): number {
    let at = offset;
    while (at < end) {
      if (at >= this.#stretch.to) this.#enter(at, end);
      const { hits, to } = this.#stretch;
      if (hits === null) {
        const unread = this.#asked.tail.candidate(at, Math.min(to, end), this.#hashes);
        if (unread < Math.min(to, end)) return unread;
        at = to;
        continue;
      }
      while (this.#next < hits.length && hits[this.#next]! < at) this.#next += 1;
      const hit = hits[this.#next];
      if (hit !== undefined) return Math.min(hit, end);
      at = to;
    }
    return end;
  }

  /** The names of a record that was read. */
  seen(offset: number, hashes: () => readonly number[]): void {
    if (this.#stretch.hits === null) this.#asked.tail.note(offset, hashes());
  }

  /** The stretch that the record is in. */
  #enter(offset: number, end: number): void {
    this.#next = 0;
    const known = this.#known(offset);
    if (known !== null) {
      this.#stretch = known;
      return;
    }
    // It may have been written, or merged with others, since the runs were looked at.
    this.#runs = runsOf(this.#store, this.#asked.topic);
    this.#stretch = this.#known(offset) ?? this.#gap(offset, end);
  }

  #known(offset: number): Stretch | null {
    const run = this.#runs?.find(({ from, to }) => from <= offset && offset < to);
    if (run === undefined) return null;
    const hits = hitsIn(this.#store, this.#asked.topic, run, this.#asked.names);
    return hits === null ? null : { to: run.to, hits };
  }

  #gap(offset: number, end: number): Stretch {
    const runs = this.#runs;
    const run = runs?.find(({ from, to }) => from <= offset && offset < to);
    const next = runs?.find(({ from }) => from > offset);
    const to = Math.min(run?.to ?? next?.from ?? end, end);
    const damaged = runs === null || run !== undefined;
    this.#asked.unindexed?.({ from: offset, to, damaged });
    return { to, hits: null };
  }
}
