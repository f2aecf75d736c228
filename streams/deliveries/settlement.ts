/**
 * How deliveries are settled: what logs, stages and primitives do with them.
 *
 * A delivery is an open part of a family (`family.ts`) until it is spent; what it is made into then replaces
 * it. Logs use `deliver` and `settlementOf`, stages `adopt` and `emit`, primitives `gather` and `setState`.
 */

import { MillraceError } from '../../base/index.ts';
import type { Topic } from '../topic.ts';
import type { Delivery, SideRecord } from './delivery.ts';
import { type DeliveryOwner, Family, type PartState, type Root } from './family.ts';
import { neverStopping } from './stopping.ts';

/** What one commit has to do for a set of deliveries: appends in order, and records to settle. */
export interface Settlement {
  readonly roots: readonly Root[];
  readonly writes: readonly SideRecord[];
}

type Place = Pick<Root, 'topic' | 'position' | 'key'>;

class TrackedDelivery<T> implements Delivery<T> {
  readonly value: T;
  readonly topic: string;
  readonly position: Root['position'];
  readonly key: string;
  readonly sideRecords: readonly SideRecord[];
  readonly #family: Family;
  #state: PartState | 'spent' = 'free';

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
    return this.#state === 'spent';
  }

  /** Nothing if the delivery is spent. */
  enter(state: PartState): void {
    if (this.#state === state || this.#state === 'spent') return;
    this.family.move(this.#state, state);
    this.#state = state;
  }

  spend(): void {
    if (this.spent) {
      throw new MillraceError(
        'SPENT',
        `${placeOf(this)} is used twice; continue with what derive, split, gather or also returned`,
      );
    }
    this.enter('free');
    this.#state = 'spent';
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
    this.family.grow(values.length - 1);
    return values.map(
      (value, i) => new TrackedDelivery(value, this, i === 0 ? this.sideRecords : [], this.#family),
    );
  }

  also<U>(topic: Topic<U>, value: U): Delivery<T> {
    this.spend();
    const sideRecords = [...this.sideRecords, { topic, value }];
    return new TrackedDelivery(this.value, this, sideRecords, this.#family);
  }

  drop(): void {
    this.end([]);
    this.handOver();
  }

  /**
   * This part has ended: its side records and outputs (an array of its own) wait in the family for the
   * others.
   */
  end(outputs: SideRecord[]): void {
    this.spend();
    const { family } = this;
    if (family.writes.length + this.sideRecords.length === 0) family.writes = outputs;
    else family.writes.push(...this.sideRecords, ...outputs);
    family.grow(-1);
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

/**
 * For stages: from now on `owner` commits this delivery and what is derived from it. Gives the record that
 * was read.
 */
export function adopt(delivery: Delivery<unknown>, owner: DeliveryOwner): Root {
  const { family } = tracked(delivery);
  family.owner = owner;
  return family.roots[0] as Root;
}

/** Who commits this delivery now. */
export function ownerOf(delivery: Delivery<unknown>): DeliveryOwner {
  return tracked(delivery).family.owner;
}

/** For stages: the delivery leaves as a record of `to` (null: no record), once its whole family has. */
export function emit(delivery: Delivery<unknown>, to: Topic<unknown> | null): void {
  const leaving = tracked(delivery);
  leaving.end(to === null ? [] : [{ topic: to, value: delivery.value }]);
  leaving.handOver();
}

/**
 * Many to one: the families of all members become one, `value` carries their side records. Place and key are
 * the first one's.
 */
export function gather<T, U>(members: readonly Delivery<T>[], value: U): Delivery<U> {
  const all = members.map(tracked);
  const [first, ...rest] = all;
  if (first === undefined) throw new RangeError('gather needs at least one member');
  for (const member of all) member.spend();
  const { family } = first;
  for (const member of rest) family.gather(member.family);
  const sideRecords = all.flatMap((member) => member.sideRecords);
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

/** As `settlementOf`, family by family: records that share no output are separate. */
export function settlementsOf(deliveries: readonly Delivery<unknown>[]): readonly Settlement[] {
  /** The parts that end with this commit, if any. */
  const ending = new Map<Family, TrackedDelivery<unknown>[]>();
  for (const delivery of new Set(deliveries)) {
    const part = tracked(delivery);
    const parts = ending.get(part.family) ?? [];
    if (!part.spent) parts.push(part);
    ending.set(part.family, parts);
  }
  for (const [family, parts] of ending) family.check(parts.length);
  for (const [family, parts] of ending) {
    family.settled = true;
    for (const part of parts) part.end([]);
  }
  return [...ending.keys()];
}

/**
 * For ordering commits: everything that the family of this delivery writes; complete once it has gone to its
 * owner.
 */
export function writesOf(delivery: Delivery<unknown>): readonly SideRecord[] {
  return tracked(delivery).family.writes;
}

/** For primitives: aborted when this delivery's run is to stop. */
export function stoppingOf(delivery: Delivery<unknown>): AbortSignal {
  return ownerOf(delivery).stopping ?? neverStopping;
}

/** For primitives: a function works on this part, or it waits in an open group, or neither. */
export function setState(delivery: Delivery<unknown>, state: PartState): void {
  tracked(delivery).enter(state);
}
