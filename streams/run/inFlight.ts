/**
 * The records that a stage has in flight, and which of them can no longer be settled.
 *
 * A record that stays `free` (`family.ts`) is in an RxJS operator between the primitives (`delay` holds it
 * for good reason) or was dropped by one (`filter` on deliveries): from outside these look the same. What was
 * released is garbage, though, so its root is held weakly and found to be gone; a collection is requested
 * when a record has been free for a while, ever more rarely. Nothing that can still be settled is ever
 * counted as lost, however long it takes.
 *
 * A record costs one small object and no weak reference, unless it is in flight for longer than `YOUNG_MS`.
 */

import type { PartState, Root, RootObserver } from '../deliveries/family.ts';
import { placeOf } from '../deliveries/settlement.ts';
import { collectGarbage } from './collectGarbage.ts';

/** Records are looked at weakly once they are in flight for this long. */
const YOUNG_MS = 500;
/** A collection is requested this long after a record was first seen free, then after twice as long, … */
const COLLECT_MS = 1_000;
const COLLECT_MS_MAX = 60_000;
/** A record in flight, in the ring of all of them. It leaves the ring once it has ended. */
class Entry implements RootObserver {
  state: PartState = 'free';
  before: Entry = this;
  after: Entry = this;
  readonly sinceMs: number;
  /** Held as it is while it is young, then weakly, with its place. Null: the ring's beginning, or ended. */
  root: Root | WeakRef<Root> | null;
  place = '';

  constructor(root: Root | null, sinceMs: number) {
    this.root = root;
    this.sinceMs = sinceMs;
  }

  end(): void {
    this.before.after = this.after;
    this.after.before = this.before;
    this.before = this;
    this.after = this;
    this.root = null;
  }
}

export class InFlight {
  readonly #collect: () => void;
  /** Before the oldest and after the newest, in the order in which they were read. */
  readonly #ring = new Entry(null, 0);
  #collectMs = COLLECT_MS;
  #collectAtMs = Number.POSITIVE_INFINITY;

  constructor(collect = (): void => void setImmediate(collectGarbage)) {
    this.#collect = collect;
  }

  add(root: Root, nowMs: number): void {
    const entry = new Entry(root, nowMs);
    const ring = this.#ring;
    entry.before = ring.before;
    entry.after = ring;
    ring.before.after = entry;
    ring.before = entry;
    root.observer = entry;
  }

  /** A function works on one of them, or will. */
  get works(): boolean {
    return this.#first(({ state }) => state === 'working') !== null;
  }

  /** Those that are free, oldest first, by place and key. */
  get strays(): readonly string[] {
    const places: string[] = [];
    for (const { state, root, place } of this.#all()) {
      if (state !== 'free' || root === null) continue;
      places.push(root instanceof WeakRef ? place : placeOf(root));
    }
    return places;
  }

  /** How long the oldest record outside an open group has been in flight; 0 if there is none. */
  oldestMs(nowMs: number): number {
    const oldest = this.#first(({ state }) => state !== 'waiting');
    return oldest === null ? 0 : nowMs - oldest.sinceMs;
  }

  /** To be called periodically: those that can no longer be settled, by place and key. */
  lost(nowMs: number): readonly string[] {
    const lost: string[] = [];
    for (const entry of this.#all()) {
      const { root } = entry;
      if (root instanceof WeakRef) {
        if (entry.state === 'free' && root.deref() === undefined) lost.push(entry.place);
      } else if (root !== null && nowMs - entry.sinceMs >= YOUNG_MS) {
        entry.place = placeOf(root);
        entry.root = new WeakRef(root);
      }
    }
    this.#collectWhenDue(nowMs);
    return lost;
  }

  *#all(): Generator<Entry, void, undefined> {
    for (let entry = this.#ring.after; entry !== this.#ring; entry = entry.after) yield entry;
  }

  #first(wanted: (entry: Entry) => boolean): Entry | null {
    for (const entry of this.#all()) if (wanted(entry)) return entry;
    return null;
  }

  #collectWhenDue(nowMs: number): void {
    const watched = this.#first((entry) => entry.state === 'free' && entry.root instanceof WeakRef);
    if (watched === null) {
      this.#collectMs = COLLECT_MS;
      this.#collectAtMs = Number.POSITIVE_INFINITY;
    } else if (nowMs >= this.#collectAtMs) {
      this.#collectMs = Math.min(2 * this.#collectMs, COLLECT_MS_MAX);
      this.#collectAtMs = nowMs + this.#collectMs;
      this.#collect();
    } else this.#collectAtMs = Math.min(this.#collectAtMs, nowMs + this.#collectMs);
  }
}
