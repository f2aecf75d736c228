/**
 * The records that a stage has in flight, and which of them nobody can settle any more.
 *
 * A record is in somebody's charge while a primitive works on it or keeps it in an open group. What is in nobody's charge
 * lies in an RxJS operator between the primitives (`delay` holds it for good reason) or was let go by one (`filter` on
 * deliveries): from outside these look the same. What was let go is garbage, though, so its root is held weakly and found to
 * be gone; a collection is asked for when a record has been in nobody's charge for a while, ever more rarely. Nothing that
 * can still be settled is ever taken for lost, however long it takes.
 *
 * A record costs one small object and no weak reference, unless it is in flight for longer than `YOUNG_MS`.
 */

import { placeOf, type Root, type RootFate } from '../deliveries/settlement.ts';
import { collectGarbage } from './collectGarbage.ts';

/** Records are looked at weakly once they are in flight for so long. */
const YOUNG_MS = 500;
/** A collection is asked for so long after a record was first seen in nobody's charge; then after twice as long, … */
const COLLECT_MS = 1_000;
const COLLECT_MS_MAX = 60_000;
/** The list is gone through when it has grown by so many. */
const PRUNE = 1024;

interface Entry {
  readonly sinceMs: number;
  readonly fate: RootFate;
  /** Held as it is while it is young, then weakly, with its place. */
  readonly root: Root | WeakRef<Root>;
  readonly place: string;
}

export class InFlight {
  readonly #collect: () => void;
  /** In the order in which they were read. */
  #entries: Entry[] = [];
  #pruneAt = PRUNE;
  #collectMs = COLLECT_MS;
  #collectAtMs = Number.POSITIVE_INFINITY;

  constructor(collect = (): void => void setImmediate(collectGarbage)) {
    this.#collect = collect;
  }

  add(root: Root, nowMs: number): void {
    const fate: RootFate = { ended: false, inCharge: null };
    root.fate = fate;
    this.#entries.push({ sinceMs: nowMs, fate, root, place: '' });
    if (this.#entries.length < this.#pruneAt) return;
    this.#prune();
    this.#pruneAt = 2 * this.#entries.length + PRUNE;
  }

  /** A function works on one of them, or will. */
  get works(): boolean {
    return this.#entries.some(({ fate }) => !fate.ended && fate.inCharge === 'works');
  }

  /** Those in nobody's charge, oldest first, by place and key. */
  get strays(): readonly string[] {
    return this.#entries.filter(isStray).map(({ root, place }) => {
      return root instanceof WeakRef ? place : placeOf(root);
    });
  }

  /** How long the oldest is in flight that does not wait in an open group; 0 when there is none. */
  oldestMs(nowMs: number): number {
    const oldest = this.#entries.find(({ fate }) => !fate.ended && fate.inCharge !== 'waits');
    return oldest === undefined ? 0 : nowMs - oldest.sinceMs;
  }

  /** To be called now and then: those that nobody can settle any more, by place and key. */
  lost(nowMs: number): readonly string[] {
    this.#prune();
    const gone = ({ root }: Entry): boolean =>
      root instanceof WeakRef && root.deref() === undefined;
    const lost = this.#entries.filter((entry) => isStray(entry) && gone(entry));
    this.#entries = this.#entries.map((entry) => {
      const { root, sinceMs } = entry;
      const young = nowMs - sinceMs < YOUNG_MS;
      if (young || root instanceof WeakRef) return entry;
      return { ...entry, root: new WeakRef(root), place: placeOf(root) };
    });
    this.#collectWhenDue(nowMs);
    return lost.map(({ place }) => place);
  }

  #collectWhenDue(nowMs: number): void {
    if (!this.#entries.some((entry) => isStray(entry) && entry.root instanceof WeakRef)) {
      this.#collectMs = COLLECT_MS;
      this.#collectAtMs = Number.POSITIVE_INFINITY;
    } else if (nowMs >= this.#collectAtMs) {
      this.#collectMs = Math.min(2 * this.#collectMs, COLLECT_MS_MAX);
      this.#collectAtMs = nowMs + this.#collectMs;
      this.#collect();
    } else this.#collectAtMs = Math.min(this.#collectAtMs, nowMs + this.#collectMs);
  }

  #prune(): void {
    this.#entries = this.#entries.filter(({ fate }) => !fate.ended);
  }
}

function isStray({ fate }: Entry): boolean {
  return !fate.ended && fate.inCharge === null;
}
