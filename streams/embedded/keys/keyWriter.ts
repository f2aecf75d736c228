/**
 * Writes the index by key with the append, in its transaction: what is in the log and what the index says
 * cannot disagree.
 *
 * The entries of a topic's last records are kept in memory until there are enough for a run. Sixteen
 * neighbours become one, twice, so that a topic of millions of records has some hundred runs and an entry is
 * written three times. After a start the records after the last run are read once; where those are more than
 * a process can have left (an older millrace wrote them), they are left out, and readers read them.
 */
import type { LogStore, Writes } from '../store.ts';
import { entryOf, type Run } from './entries.ts';
import { entriesOf, removeRun, runsOf, writeRun } from './keyRuns.ts';

/** How large a run is when it is appended; it may have a few more entries. */
export const RUN = { records: 256, entries: 2048 };
const MERGED = 16;
const LEVEL_MAX = 2;
/** Limit of records that are read again after a start. */
const RECOVERED_MAX = 4 * RUN.records;

/** The records of a topic that are in no run yet: those from `from` on. */
interface Tail {
  readonly runs: readonly Run[];
  readonly from: number;
  readonly entries: readonly number[];
}

/** One that a transaction adds to. */
interface Growing {
  readonly runs: Run[];
  from: number;
  entries: number[];
}

/** A record with the hashes of its names; null if they are not known, and the index leaves it out. */
export interface Named {
  readonly topic: string;
  readonly offset: number;
  readonly hashes: readonly number[] | null;
}

/** What one transaction changes; it counts once the transaction is on disk. */
export class KeyChange {
  readonly #store: LogStore;
  readonly #before: ReadonlyMap<string, Tail>;
  readonly tails = new Map<string, Growing>();
  readonly #grown = new Set<string>();

  constructor(store: LogStore, before: ReadonlyMap<string, Tail>) {
    this.#store = store;
    this.#before = before;
  }

  /** The next record of its topic. `hashesAt` reads those of an older one. */
  add(
    writes: Writes,
    { topic, offset, hashes }: Named,
    hashesAt: (offset: number) => readonly number[],
  ): void {
    const tail = this.tails.get(topic) ?? this.#tail(topic, offset, hashesAt);
    this.tails.set(topic, tail);
    if (hashes === null) {
      this.#seal(writes, topic, tail, offset);
      tail.from = offset + 1;
      return;
    }
    for (const hash of hashes) tail.entries.push(entryOf(hash, offset - tail.from));
    const to = offset + 1;
    if (to - tail.from < RUN.records && tail.entries.length < RUN.entries) return;
    this.#seal(writes, topic, tail, to);
  }

  /** What was gathered, as a run that ends at `to`. */
  #seal(writes: Writes, topic: string, tail: Growing, to: number): void {
    const { from, runs } = tail;
    if (from === to) return;
    const entries = Float64Array.from(tail.entries);
    runs.push(writeRun(writes, topic, { from, to, level: 0 }, entries));
    tail.from = to;
    tail.entries = [];
    while (this.#merge(writes, topic, runs)) {}
    this.#grown.add(topic);
  }

  /** Stores which runs there are. */
  write(writes: Writes): void {
    for (const topic of this.#grown) writes.putRuns(topic, this.tails.get(topic)!.runs);
  }

  #tail(topic: string, end: number, hashesAt: (offset: number) => readonly number[]): Growing {
    const known = this.#before.get(topic);
    if (known !== undefined) {
      return { runs: [...known.runs], from: known.from, entries: [...known.entries] };
    }
    const runs = [...(runsOf(this.#store, topic) ?? [])];
    const from = runs.at(-1)?.to ?? 0;
    const read = end - from > RECOVERED_MAX ? null : entriesFrom(from, end, hashesAt);
    return read === null ? { runs, from: end, entries: [] } : { runs, from, entries: read };
  }

  /** Merges the last runs, once a level has enough of them and none is missing. */
  #merge(writes: Writes, topic: string, runs: Run[]): boolean {
    const last = runs.slice(-MERGED);
    const { level } = last.at(-1)!;
    const alike = last.every((run, i) => {
      return run.level === level && (i === 0 || last[i - 1]!.to === run.from);
    });
    if (last.length < MERGED || level >= LEVEL_MAX || !alike) return false;
    const parts: Float64Array[] = [];
    const [from, to] = [last[0]!.from, last.at(-1)!.to];
    for (const run of last) {
      const pages = entriesOf(this.#store, topic, run);
      if (pages === null) return false; // a page was changed: readers read those records instead
      for (const page of pages) parts.push(page.map((entry) => entry + run.from - from));
    }
    for (const run of last) removeRun(writes, topic, run);
    const merged = { from, to, level: level + 1 };
    runs.splice(-MERGED, MERGED, writeRun(writes, topic, merged, joined(parts)));
    return true;
  }
}

function joined(parts: readonly Float64Array[]): Float64Array {
  const all = new Float64Array(parts.reduce((sum, { length }) => sum + length, 0));
  let at = 0;
  for (const part of parts) {
    all.set(part, at);
    at += part.length;
  }
  return all;
}

/** Null if one of the records cannot be read. */
function entriesFrom(
  from: number,
  end: number,
  hashesAt: (offset: number) => readonly number[],
): number[] | null {
  const entries: number[] = [];
  try {
    for (let offset = from; offset < end; offset++) {
      for (const hash of hashesAt(offset)) entries.push(entryOf(hash, offset - from));
    }
  } catch {
    return null;
  }
  return entries;
}

/** The ends of all topics, between transactions. */
export class KeyWriter {
  readonly #store: LogStore;
  readonly #tails = new Map<string, Tail>();

  constructor(store: LogStore) {
    this.#store = store;
  }

  change(): KeyChange {
    return new KeyChange(this.#store, this.#tails);
  }

  apply(change: KeyChange): void {
    for (const [topic, tail] of change.tails) this.#tails.set(topic, tail);
  }
}
