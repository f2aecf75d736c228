/**
 * The log: durable topics of typed records, and the one way to write to them.
 *
 * Both logs (embedded folder, Kafka) keep this contract and pass the same suite:
 * - `read` takes from the log on demand: never more than `inflightMax` deliveries are unsettled.
 * - `commit` writes appends and settlements together, all or nothing; settlements may come out of order.
 * - After a crash a group reads again exactly the deliveries that no commit settled.
 * - `tap` belongs to no group, commits nothing, and may run in another process.
 */
import type { Observable } from 'rxjs';
import type { Delivery } from './delivery.ts';
import type { Position } from './records.ts';
import type { Topic } from './topic.ts';

/** A record as it lies in the log. */
export interface Stored<T> {
  readonly topic: string;
  readonly position: Position;
  readonly key: string;
  readonly value: T;
  /** When it was appended, by the log's clock. */
  readonly atMs: number;
}

/** Where a tap begins. */
export type From =
  | { readonly kind: 'earliest' }
  | { readonly kind: 'latest' }
  | { readonly kind: 'offset'; readonly offset: number }
  | { readonly kind: 'last'; readonly count: number }
  | { readonly kind: 'time'; readonly atMs: number };

export interface ReadOptions {
  /** Who reads: progress is kept per (group, topic). By custom the name of the stage. */
  readonly group: string;
  /** Most deliveries that may be unsettled at once. */
  readonly inflightMax: number;
}

export interface TapOptions {
  readonly from: From;
  /** Go on at the end and wait for more, until unsubscribed. */
  readonly follow: boolean;
}

/** The writes of one commit. */
export interface Tx {
  append<T>(topic: Topic<T>, value: T): void;
  /** Settle its originals and write what rides on it. All parts of a split must be in one commit. */
  settle(delivery: Delivery<unknown>): void;
  /** A named number kept with the commit (a source's progress); read back by `Log.mark`. */
  mark(name: string, value: number): void;
}

export interface TopicStat {
  readonly topic: string;
  readonly records: number;
  readonly bytes: number;
  /** Unsettled records per reading group. */
  readonly lag: Readonly<Record<string, number>>;
}

export interface Log {
  read<T>(topic: Topic<T>, options: ReadOptions): Observable<Delivery<T>>;
  commit(write: (tx: Tx) => void): Promise<void>;
  /** The records at these positions, in their order. Fails with code `NOT_FOUND` naming the first missing one. */
  fetch<T>(topic: Topic<T>, positions: readonly Position[]): Promise<readonly Stored<T>[]>;
  tap<T>(topic: Topic<T>, options: TapOptions): Observable<Stored<T>>;
  /** The number last committed under this name, or 0. */
  mark(name: string): Promise<number>;
  /** Records of `topic` that `group` has not settled. */
  lag(topic: Topic<unknown>, group: string): Promise<number>;
  stats(): Promise<readonly TopicStat[]>;
  close(): Promise<void>;
}
