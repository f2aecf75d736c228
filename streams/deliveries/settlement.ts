/**
 * How deliveries are settled: what logs, stages and primitives do with them.
 *
 * All that derives from a set of records (its roots) is one family, which counts the parts that are still open and
 * holds what they will write. When the last part ends, the family goes to its owner, which commits it whole.
 * Logs use `deliver` and `settlementOf`, stages `adopt` and `emit`, primitives `gather` and `setWaiting`.
 */

import { MillraceError } from '../../base/index.ts';
import type { Position } from '../position.ts';
import type { Topic } from '../topic.ts';
import type { Delivery, SideRecord } from './delivery.ts';
import { neverStopping } from './stopping.ts';

/** A record that was read: what a log settles. */
export interface Root {
  readonly topic: string;
  readonly position: Position;
  readonly key: string;
  /** The log's own mark of which reader handed it out. */
  readonly reader: object;
  /** Called when all that is left of it waits in open groups, and when that is no longer so. */
  readonly onWaiting?: (waits: boolean) => void;
  /** Set by the stage that adopts it. Logs write it as `undefined`: added later, it would cost more than all else here. */
  observer?: RootObserver | undefined;
}

/** A primitive has taken charge of a root: it works on it, or all that is left of it waits in open groups. Null: none has. */
export type InCharge = 'works' | 'waits' | null;

/** Notified of what becomes of a root, so that a stage can see that nobody works on it any more. Outlives the root and its family. */
export interface RootObserver {
  inCharge: InCharge;
  /** The last part of its family has left or was dropped. */
  end(): void;
}

/** Roots that wait in open groups, and so cannot settle before more arrives: all, and those of a partition. */
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
  /** So many more of its records wait for what sets the pace; fewer where it is negative. Nobody counts where it is left out. */
  paced?(records: number): void;
  /** The last part of a family of `roots` records has ended: `log.commit((tx) => tx.settle(delivery))` is due. */
  ready(delivery: Delivery<unknown>, roots: number): void;
}

/** What one commit has to do for a set of deliveries: appends in order, and records to settle. */
export interface Settlement {
  readonly roots: readonly Root[];
  readonly writes: readonly SideRecord[];
}

/** What the deliveries of one family share. `open` counts the parts that are not yet at their end. */
class Family {
  roots: Root[];
  writes: SideRecord[] = [];
  open = 1;
  settled = false;
  /** Those that a commit settles now. */
  settling: TrackedDelivery<unknown>[] | null = null;
  /** Of the open parts: those that wait in open groups. */
  waitingParts = 0;
  /** Of the open parts: those that a function works on, or will. */
  workingParts = 0;
  #owner: DeliveryOwner;
  /** Its owner counts its roots as waiting: every open part waits. */
  #waiting = false;
  /** What the observers of its roots know. */
  #inCharge: InCharge = null;
  /** Set once this family was joined to another. */
  #joined: Family | null = null;

  constructor(root: Root, owner: DeliveryOwner) {
    this.roots = [root];
    this.#owner = owner;
  }

  get owner(): DeliveryOwner {
    return this.#owner;
  }

  set owner(owner: DeliveryOwner) {
    this.#setWaiting(false);
    this.#owner = owner;
    this.recount();
  }

  /** After a change of `open` or `waitingParts`. */
  recount(): void {
    this.#setWaiting(this.waitingParts > 0 && this.waitingParts === this.open);
    const inCharge = this.workingParts > 0 ? 'works' : this.#waiting ? 'waits' : null;
    if (inCharge === this.#inCharge) return;
    this.#inCharge = inCharge;
    for (const { observer } of this.roots) if (observer !== undefined) observer.inCharge = inCharge;
  }

  /** The family that this one became part of. */
  get whole(): Family {
    let family: Family = this;
    while (family.#joined !== null) family = family.#joined;
    return family;
  }

  join(other: Family): void {
    this.#setWaiting(false);
    other.#setWaiting(false);
    for (const { observer } of other.roots)
      if (observer !== undefined) observer.inCharge = this.#inCharge;
    this.waitingParts += other.waitingParts;
    this.workingParts += other.workingParts;
    this.roots.push(...other.roots);
    this.writes.push(...other.writes);
    this.open += other.open;
    other.#joined = this;
    other.roots = [];
    other.writes = [];
  }

  #setWaiting(waits: boolean): void {
    if (waits === this.#waiting) return;
    this.#waiting = waits;
    for (const root of this.roots) {
      this.#owner.waiting.add(waits ? 1 : -1, root.position);
      root.onWaiting?.(waits);
    }
  }
}

type Place = Omit<Root, 'reader' | 'onWaiting'>;

class TrackedDelivery<T> implements Delivery<T> {
  readonly value: T;
  readonly topic: string;
  readonly position: Position;
  readonly key: string;
  readonly sideRecords: readonly SideRecord[];
  readonly #family: Family;
  #spent = false;

  constructor(value: T, place: Place, sideRecords: readonly SideRecord[], family: Family) {
    this.value = value;
    this.topic = place.topic;
    this.position = place.position;
    this.key = place.key;
    this.sideRecords = sideRecords;
    this.#family = family;
  }

  get family(): Family {
    return this.#family.whole;
  }

  get spent(): boolean {
    return this.#spent;
  }

  spend(): void {
    if (this.#spent) {
      throw new MillraceError(
        'SPENT',
        `${placeOf(this)} is used twice; go on with what derive, split, gather or also returned`,
      );
    }
    this.#spent = true;
  }

  derive<U>(value: U): Delivery<U> {
    this.spend();
    return new TrackedDelivery(value, this, this.sideRecords, this.#family);
  }

  split<U>(values: readonly U[]): readonly Delivery<U>[] {
    if (values.length === 0) {
      this.drop();
      return [];
    }
    this.spend();
    this.family.open += values.length - 1;
    this.family.recount();
    return values.map(
      (value, i) => new TrackedDelivery(value, this, i === 0 ? this.sideRecords : [], this.#family),
    );
  }

  also<U>(topic: Topic<U>, value: U): Delivery<T> {
    this.spend();
    return new TrackedDelivery(
      this.value,
      this,
      [...this.sideRecords, { topic, value }],
      this.#family,
    );
  }

  drop(): void {
    this.end([]);
    this.handOver();
  }

  /** This part is finished: its side records and outputs (an array of its own) wait in the family for the others. */
  end(outputs: SideRecord[]): void {
    this.spend();
    const family = this.family;
    if (family.writes.length + this.sideRecords.length === 0) family.writes = outputs;
    else family.writes.push(...this.sideRecords, ...outputs);
    family.open -= 1;
    family.recount();
  }

  /** The family goes to its owner, if this was the last part. */
  handOver(): void {
    const { open, owner, roots } = this.family;
    if (open > 0) return;
    for (const { observer } of roots) observer?.end();
    owner.ready(this, roots.length);
  }
}

/** `topic@partition/offset (key)`: how messages name a record. */
export function placeOf({ topic, position, key }: Place): string {
  return `${topic}@${position.partition}/${position.offset}${key === '' ? '' : ` (key ${key})`}`;
}

/** Whether this is a delivery at all: what leaves a user's operator may be anything. */
export function isDelivery(value: unknown): value is Delivery<unknown> {
  return value instanceof TrackedDelivery;
}

function tracked<T>(delivery: Delivery<T>): TrackedDelivery<T> {
  if (delivery instanceof TrackedDelivery) return delivery;
  throw new MillraceError(
    'SPENT',
    'this delivery was not made by deliver(); build fakes with deliver()',
  );
}

/** For logs: the delivery of a record just read. `owner` commits it until a stage adopts it. */
export function deliver<T>(value: T, root: Root, owner: DeliveryOwner): Delivery<T> {
  return new TrackedDelivery(value, root, [], new Family(root, owner));
}

/** For stages: from now on `owner` commits this delivery and what is derived from it. Gives the record that was read. */
export function adopt(delivery: Delivery<unknown>, owner: DeliveryOwner): Root {
  const { family } = tracked(delivery);
  family.owner = owner;
  return family.roots[0] as Root;
}

/** For stages: who commits this delivery now. */
export function ownerOf(delivery: Delivery<unknown>): DeliveryOwner {
  return tracked(delivery).family.owner;
}

/** For stages: the delivery leaves as a record of `to` (null: no record), once its whole family has. */
export function emit(delivery: Delivery<unknown>, to: Topic<unknown> | null): void {
  const leaving = tracked(delivery);
  leaving.end(to === null ? [] : [{ topic: to, value: delivery.value }]);
  leaving.handOver();
}

/** Many to one: the families of all members become one, `value` carries their side records. Place and key are the first one's. */
export function gather<T, U>(members: readonly Delivery<T>[], value: U): Delivery<U> {
  const all = members.map(tracked);
  const [first, ...rest] = all;
  if (first === undefined) throw new RangeError('gather needs at least one member');
  for (const member of all) member.spend();
  const sideRecords = all.flatMap((member) => member.sideRecords);
  const family = first.family;
  for (const member of rest) {
    if (member.family !== family) family.join(member.family);
    family.open -= 1;
  }
  family.recount();
  return new TrackedDelivery(value, first, sideRecords, family);
}

/**
 * For logs: what a commit that settles these deliveries has to write. Fails with code `HALF_SETTLED`
 * when a part of their family is still on its way, and `SPENT` when it was settled before.
 */
export function settlementOf(deliveries: readonly Delivery<unknown>[]): Settlement {
  const families = settlementsOf(deliveries);
  return {
    roots: families.flatMap(({ roots }) => roots),
    writes: families.flatMap(({ writes }) => writes),
  };
}

/** As `settlementOf`, family by family: records that share no output are apart. */
export function settlementsOf(deliveries: readonly Delivery<unknown>[]): readonly Settlement[] {
  const families: Family[] = [];
  for (const delivery of new Set(deliveries)) {
    const member = tracked(delivery);
    const { family } = member;
    if (family.settling !== null) family.settling.push(member);
    else {
      family.settling = [member];
      families.push(family);
    }
  }
  try {
    for (const family of families) check(family);
    for (const family of families) {
      family.settled = true;
      for (const member of family.settling!) if (!member.spent) member.end([]);
    }
  } finally {
    for (const family of families) family.settling = null;
  }
  return families;
}

function check(family: Family): void {
  let missing = family.open;
  for (const member of family.settling!) if (!member.spent) missing -= 1;
  if (missing <= 0 && !family.settled) return;
  const { topic, position } = family.roots[0]!;
  const place = `${topic}@${position.offset}`;
  if (missing > 0) {
    throw new MillraceError(
      'HALF_SETTLED',
      `${missing} parts derived from ${place} are not in this commit; settle all parts of a split together`,
      { context: { place, missing } },
    );
  }
  throw new MillraceError('SPENT', `${place} is settled twice`, { context: { place } });
}

/** For who orders commits: all that the family of this delivery writes; complete once it has gone to its owner. */
export function writesOf(delivery: Delivery<unknown>): readonly SideRecord[] {
  return tracked(delivery).family.writes;
}

/** For primitives: aborted when the run that this delivery is of is to stop. */
export function stoppingOf(delivery: Delivery<unknown>): AbortSignal {
  return tracked(delivery).family.owner.stopping ?? neverStopping;
}

/** For primitives: this part waits in an open group (or, with `false`, no longer does). */
export function setWaiting(delivery: Delivery<unknown>, waits = true): DeliveryOwner {
  const { family } = tracked(delivery);
  family.waitingParts += waits ? 1 : -1;
  family.recount();
  return family.owner;
}

/** For primitives: a function works on this part, or will as soon as it can (or, with `false`, no longer does). */
export function setWorking(delivery: Delivery<unknown>, works: boolean): void {
  const { family } = tracked(delivery);
  family.workingParts += works ? 1 : -1;
  family.recount();
}
