/**
 * How deliveries keep their debts: what logs, stages and primitives do with them.
 *
 * All that derives from a set of originals shares a bond, which counts the parts not yet at their end and
 * holds what they will write. When the last part ends, the bond goes to its desk, which commits it whole.
 * Logs use `deliver` and `claim`, stages `adopt` and `emit`, primitives `gather` and `park`.
 */

import { MillraceError } from '../base/errors.ts';
import type { Aside, Delivery } from './delivery.ts';
import type { Position } from './records.ts';
import type { Topic } from './topic.ts';

/** An original: what a log settles. */
export interface Root {
  readonly topic: string;
  readonly position: Position;
  readonly key: string;
  /** The log's own mark of which reader handed it out. */
  readonly reader: object;
  /** Told when all that is left of it waits in open groups, and when that is no longer so. */
  readonly parked?: (waits: boolean) => void;
}

/** Roots that wait in open groups, and so cannot settle before more arrives: all, and those of a partition. */
export class Parked {
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

/** Who commits what deliveries owe: the log at first, a stage once it has adopted them. */
export interface Desk {
  /** Most roots of a partition that may be unsettled at once. */
  readonly inflightMax: number;
  readonly parked: Parked;
  /** Every part of `roots` originals has ended: `log.commit((tx) => tx.settle(owed))` is due. */
  ready(owed: Delivery<unknown>, roots: number): void;
}

/** What one commit owes to a set of deliveries: appends in order, and originals to settle. */
export interface Settlement {
  readonly roots: readonly Root[];
  readonly writes: readonly Aside[];
}

/** The debt that deliveries of one family share. `open` counts those not yet at their end. */
class Bond {
  roots: Root[];
  writes: Aside[] = [];
  open = 1;
  claimed = false;
  /** Those that a commit settles now. */
  claiming: Carried<unknown>[] | null = null;
  /** Parts that wait in open groups. */
  waiting = 0;
  #desk: Desk;
  /** Its desk counts its roots as parked. */
  #parked = false;
  /** Set once this bond was joined to another. */
  #joined: Bond | null = null;

  constructor(root: Root, desk: Desk) {
    this.roots = [root];
    this.#desk = desk;
  }

  get desk(): Desk {
    return this.#desk;
  }

  set desk(desk: Desk) {
    this.#park(false);
    this.#desk = desk;
    this.recount();
  }

  /** Its roots are parked when every part that is still open waits in a group. */
  recount(): void {
    this.#park(this.waiting > 0 && this.waiting === this.open);
  }

  /** The bond that this one became part of. */
  get whole(): Bond {
    let bond: Bond = this;
    while (bond.#joined !== null) bond = bond.#joined;
    return bond;
  }

  join(other: Bond): void {
    this.#park(false);
    other.#park(false);
    this.waiting += other.waiting;
    this.roots.push(...other.roots);
    this.writes.push(...other.writes);
    this.open += other.open;
    other.#joined = this;
    other.roots = [];
    other.writes = [];
  }

  #park(waits: boolean): void {
    if (waits === this.#parked) return;
    this.#parked = waits;
    for (const root of this.roots) {
      this.#desk.parked.add(waits ? 1 : -1, root.position);
      root.parked?.(waits);
    }
  }
}

type Place = Omit<Root, 'reader' | 'parked'>;

class Carried<T> implements Delivery<T> {
  readonly value: T;
  readonly topic: string;
  readonly position: Position;
  readonly key: string;
  readonly asides: readonly Aside[];
  readonly #bond: Bond;
  #spent = false;

  constructor(value: T, place: Place, asides: readonly Aside[], bond: Bond) {
    this.value = value;
    this.topic = place.topic;
    this.position = place.position;
    this.key = place.key;
    this.asides = asides;
    this.#bond = bond;
  }

  get bond(): Bond {
    return this.#bond.whole;
  }

  get spent(): boolean {
    return this.#spent;
  }

  spend(): void {
    if (this.#spent) {
      throw new MillraceError(
        'SPENT',
        `delivery ${this.topic}@${this.position.offset} is used twice; go on with what derive, split, gather or also returned`,
      );
    }
    this.#spent = true;
  }

  derive<U>(value: U): Delivery<U> {
    this.spend();
    return new Carried(value, this, this.asides, this.#bond);
  }

  split<U>(values: readonly U[]): readonly Delivery<U>[] {
    if (values.length === 0) {
      this.drop();
      return [];
    }
    this.spend();
    this.bond.open += values.length - 1;
    this.bond.recount();
    return values.map(
      (value, i) => new Carried(value, this, i === 0 ? this.asides : [], this.#bond),
    );
  }

  also<U>(topic: Topic<U>, value: U): Delivery<T> {
    this.spend();
    return new Carried(this.value, this, [...this.asides, { topic, value }], this.#bond);
  }

  drop(): void {
    this.end([]);
    this.hand();
  }

  /** Its part of the debt is known: asides and outputs (an array of its own) wait in the bond for the others. */
  end(outputs: Aside[]): void {
    this.spend();
    const bond = this.bond;
    if (bond.writes.length + this.asides.length === 0) bond.writes = outputs;
    else bond.writes.push(...this.asides, ...outputs);
    bond.open -= 1;
    bond.recount();
  }

  /** To the desk, if it was the last part. */
  hand(): void {
    const { open, desk, roots } = this.bond;
    if (open === 0) desk.ready(this, roots.length);
  }
}

function carried<T>(delivery: Delivery<T>): Carried<T> {
  if (delivery instanceof Carried) return delivery;
  throw new MillraceError(
    'SPENT',
    'this delivery was not made by deliver(); build fakes with deliver()',
  );
}

/** For logs: the delivery of a record just read. `desk` commits it until a stage adopts it. */
export function deliver<T>(value: T, root: Root, desk: Desk): Delivery<T> {
  return new Carried(value, root, [], new Bond(root, desk));
}

/** For stages: from now on `desk` commits this delivery and what is derived from it. */
export function adopt(delivery: Delivery<unknown>, desk: Desk): void {
  carried(delivery).bond.desk = desk;
}

/** For stages: the delivery leaves as a record of `to` (null: no record), once its whole family has. */
export function emit(delivery: Delivery<unknown>, to: Topic<unknown> | null): void {
  const leaving = carried(delivery);
  leaving.end(to === null ? [] : [{ topic: to, value: delivery.value }]);
  leaving.hand();
}

/** Many to one: `value` with the debts and asides of all members. Place and key are the first one's. */
export function gather<T, U>(members: readonly Delivery<T>[], value: U): Delivery<U> {
  const all = members.map(carried);
  const [first, ...rest] = all;
  if (first === undefined) throw new RangeError('gather needs at least one member');
  for (const member of all) member.spend();
  const asides = all.flatMap((member) => member.asides);
  const bond = first.bond;
  for (const member of rest) {
    if (member.bond !== bond) bond.join(member.bond);
    bond.open -= 1;
  }
  bond.recount();
  return new Carried(value, first, asides, bond);
}

/**
 * For logs: what a commit that settles these deliveries has to write. Fails with code `HALF_SETTLED`
 * when a part of their family is still on its way, and `SPENT` when they were claimed before.
 */
export function claim(deliveries: readonly Delivery<unknown>[]): Settlement {
  const families = claimFamilies(deliveries);
  return {
    roots: families.flatMap(({ roots }) => roots),
    writes: families.flatMap(({ writes }) => writes),
  };
}

/** As `claim`, with what each family owes for itself: originals that share no output are apart. */
export function claimFamilies(deliveries: readonly Delivery<unknown>[]): readonly Settlement[] {
  const bonds: Bond[] = [];
  for (const delivery of new Set(deliveries)) {
    const member = carried(delivery);
    const { bond } = member;
    if (bond.claiming !== null) bond.claiming.push(member);
    else {
      bond.claiming = [member];
      bonds.push(bond);
    }
  }
  try {
    for (const bond of bonds) check(bond);
    for (const bond of bonds) {
      bond.claimed = true;
      for (const member of bond.claiming!) if (!member.spent) member.end([]);
    }
  } finally {
    for (const bond of bonds) bond.claiming = null;
  }
  return bonds;
}

function check(bond: Bond): void {
  let missing = bond.open;
  for (const member of bond.claiming!) if (!member.spent) missing -= 1;
  if (missing <= 0 && !bond.claimed) return;
  const { topic, position } = bond.roots[0]!;
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

/** For who orders commits: all that the family of this delivery writes; complete once it has gone to its desk. */
export function writesOf(delivery: Delivery<unknown>): readonly Aside[] {
  return carried(delivery).bond.writes;
}

/** For primitives: this part waits in an open group (or, with `false`, no longer does). */
export function park(delivery: Delivery<unknown>, waits = true): Desk {
  const { bond } = carried(delivery);
  bond.waiting += waits ? 1 : -1;
  bond.recount();
  return bond.desk;
}
