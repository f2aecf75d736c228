/**
 * A delivery: a record on its way through a stage, with the debt of settling what caused it.
 *
 * Invariant: every delivery that `Log.read` hands out is, in the end, either carried into a commit by
 * what was derived from it or dropped on purpose; nothing else frees its place among `inflightMax`.
 * `derive` moves the debt, `split` shares it out (all parts commit together), `gather` joins debts.
 * Only the primitives in `primitives.ts` call these; domain operators are pure functions inside them.
 *
 * A delivery is used once: what consumes it (derive, split, gather, also, drop, emit) makes it spent,
 * and a second use fails with code `SPENT`. How it is done lies in `settlement.ts`.
 */
import type { Position } from './records.ts';
import type { Topic } from './topic.ts';

/** A record to append in the same commit as the delivery it rides on. */
export interface Aside {
  readonly topic: Topic<unknown>;
  readonly value: unknown;
}

export interface Delivery<T> {
  readonly value: T;
  /** Where the (first) original lies. */
  readonly topic: string;
  readonly position: Position;
  readonly key: string;
  readonly asides: readonly Aside[];
  /** The same debt with another value. */
  derive<U>(value: U): Delivery<U>;
  /** One to many: the originals settle when every part is committed, in one commit. Empty = drop. */
  split<U>(values: readonly U[]): readonly Delivery<U>[];
  /** Append `value` to `topic` in the commit of this delivery. */
  also<U>(topic: Topic<U>, value: U): Delivery<T>;
  /** Settle the originals without an output (asides are still written). */
  drop(): void;
}
