/**
 * A delivery: a record on its way through a stage, with the duty to settle the records that it came from.
 *
 * Invariant: every delivery that `Log.read` hands out is, in the end, either carried into a commit by
 * what was derived from it or dropped on purpose; nothing else frees its place among `inflightMax`.
 * `derive` passes the duty on, `split` divides it (all parts commit together), `gather` joins several.
 * Only the primitives in `primitives.ts` call these; domain operators are pure functions inside them.
 *
 * A delivery is used once: what consumes it (derive, split, gather, also, drop, emit) makes it spent,
 * and a second use fails with code `SPENT`. `settlement.ts` does the work.
 */
import type { Position } from '../position.ts';
import type { Topic } from '../topic.ts';

/** A record to append in the same commit as the delivery it rides on. */
export interface SideRecord {
  readonly topic: Topic<unknown>;
  readonly value: unknown;
}

/**
 * A record on its way through a stage. Used once: each of its methods consumes it, and a second use fails
 * with code `SPENT`. Users pass deliveries through the primitives and do not call these methods.
 */
export interface Delivery<T> {
  readonly value: T;
  /** Position of the (first) record that was read. */
  readonly topic: string;
  readonly position: Position;
  readonly key: string;
  readonly sideRecords: readonly SideRecord[];
  /** The same records to settle, with another value. */
  derive<U>(value: U): Delivery<U>;
  /** One to many: the records settle when every part is committed, in one commit. Empty = drop. */
  split<U>(values: readonly U[]): readonly Delivery<U>[];
  /** Append `value` to `topic` in the commit of this delivery. */
  also<U>(topic: Topic<U>, value: U): Delivery<T>;
  /** Settle the records without an output (side records are still written). */
  drop(): void;
}
