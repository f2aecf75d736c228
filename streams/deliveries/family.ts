/**
 * Everything derived from a set of records (its roots) is one family: it counts the parts that are still
 * open, holds what they will write, and goes to its owner, which commits it whole, when the last part has
 * ended.
 *
 *     an open part is       while
 *     free                  it is on its way: between two primitives, or within an RxJS operator
 *     working               a function works on it, or will
 *     waiting               it waits in an open group, or for the next run
 *
 * A family is `working` while any of its parts is, `waiting` while all of them are, and `free` otherwise.
 */

import { MillraceError } from '../../base/index.ts';
import { counted } from '../../base/text/index.ts';
import type { Position } from '../position.ts';
import type { Delivery, SideRecord } from './delivery.ts';

/** See above. */
export type PartState = 'free' | 'working' | 'waiting';

/** A record that was read, which a log settles. */
export interface Root {
  readonly topic: string;
  readonly position: Position;
  readonly key: string;
  /** The log's own mark: which reader handed the record out. */
  readonly reader: object;
  /** Called when everything left of it waits, and when that no longer holds. */
  readonly onWaiting?: (waits: boolean) => void;
  /**
   * Set by the stage that adopts it. Logs write it as `undefined`: added later, it would cost more than all
   * else here.
   */
  observer?: RootObserver | undefined;
}

/** How a stage learns that no code is working on a root any more. Outlives the root and its family. */
export interface RootObserver {
  /** Of its family. */
  state: PartState;
  /** The last part of its family has ended. */
  end(): void;
}

/** Roots that wait, and so cannot settle before more input arrives: in all, and per partition. */
export class WaitingRecords {
  total = 0;
  readonly #of = new Map<number, number>();

  of(partition: number): number {
    return this.#of.get(partition) ?? 0;
  }

  add(count: number, { partition }: Position): void {
    this.total += count;
    this.#of.set(partition, this.of(partition) + count);
  }
}

/** Who commits a finished family: the log at first, a stage once it has adopted the delivery. */
export interface DeliveryOwner {
  /** Most roots of a partition that may be unsettled at once. */
  readonly inflightMax: number;
  readonly waiting: WaitingRecords;
  /** Aborted when the run is to stop; left out = it never does. */
  readonly stopping?: AbortSignal;
  /**
   * This many more of its records wait for the run's pace; fewer if negative. Absent if nothing counts them.
   */
  paced?(records: number): void;
  /**
   * The last part of a family of `roots` records has ended: `log.commit((tx) => tx.settle(delivery))` is due.
   */
  ready(delivery: Delivery<unknown>, roots: number): void;
}

export class Family {
  roots: Root[];
  writes: SideRecord[] = [];
  /** Parts that have not ended, and of these: those in a state other than `free`. */
  open = 1;
  working = 0;
  waiting = 0;
  settled = false;
  #state: PartState = 'free';
  #owner: DeliveryOwner;
  /** Set once this family is part of another. */
  #joined: Family | null = null;

  constructor(root: Root, owner: DeliveryOwner) {
    this.roots = [root];
    this.#owner = owner;
  }

  get owner(): DeliveryOwner {
    return this.#owner;
  }

  set owner(owner: DeliveryOwner) {
    this.#enter('free');
    this.#owner = owner;
    this.#update();
  }

  /** The family that this one has become part of. */
  get whole(): Family {
    let family: Family = this;
    while (family.#joined !== null) family = family.#joined;
    return family;
  }

  /** An open part changes its state. */
  move(from: PartState, to: PartState): void {
    if (from !== 'free') this[from] -= 1;
    if (to !== 'free') this[to] += 1;
    this.#update();
  }

  /** This many more parts are open; fewer if negative. Those that come or go are free. */
  grow(parts: number): void {
    this.open += parts;
    this.#update();
  }

  /** Two free parts become one; `other` is the family of the second. */
  gather(other: Family): void {
    if (other !== this) this.#join(other);
    this.grow(-1);
  }

  #join(other: Family): void {
    this.#enter('free');
    other.#enter('free');
    this.open += other.open;
    this.working += other.working;
    this.waiting += other.waiting;
    this.roots.push(...other.roots);
    this.writes.push(...other.writes);
    other.#joined = this;
    other.roots = [];
    other.writes = [];
  }

  #update(): void {
    const allWait = this.waiting > 0 && this.waiting === this.open;
    this.#enter(this.working > 0 ? 'working' : allWait ? 'waiting' : 'free');
  }

  #enter(state: PartState): void {
    if (state === this.#state) return;
    const waiting = Number(state === 'waiting') - Number(this.#state === 'waiting');
    this.#state = state;
    for (const root of this.roots) {
      if (root.observer !== undefined) root.observer.state = state;
      if (waiting === 0) continue;
      this.#owner.waiting.add(waiting, root.position);
      root.onWaiting?.(waiting > 0);
    }
  }

  /** Fails if a commit that ends this many of its parts cannot settle it. */
  check(ending: number): void {
    const missing = this.open - ending;
    if (missing <= 0 && !this.settled) return;
    const { topic, position } = this.roots[0]!;
    const place = `${topic}@${position.offset}`;
    if (missing > 0) {
      throw new MillraceError(
        'HALF_SETTLED',
        `this commit lacks ${counted(missing, 'part')} derived from ${place}; settle all parts of a split together`,
        { context: { place, missing } },
      );
    }
    throw new MillraceError('SPENT', `${place} is settled twice`, { context: { place } });
  }
}
