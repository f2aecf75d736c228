/**
 * The log: durable topics of typed records, and the one way to write to them.
 *
 * Both logs (embedded folder, Kafka) keep this contract and pass the same suite:
 * - `read` takes from the log on demand: never more than `inflightMax` deliveries of a partition are
 *   unsettled. Partitions are read in parallel, and one that stands still does not keep the others from
 *   going on.
 * - `commit` writes appends and settlements together, all or nothing; settlements may come out of order.
 * - After a crash a group reads again exactly the deliveries that no commit settled.
 * - `tap` belongs to no group, commits nothing, and may run in another process.
 */
import type { Observable } from 'rxjs';
import type { MillraceError } from '../base/index.ts';
import type { Delivery } from './deliveries/delivery.ts';
import type { Position } from './position.ts';
import type { ProgressState } from './progress.ts';
import type { Topic } from './topic.ts';

/** A record as stored in the log. */
export interface Stored<T> {
  readonly topic: string;
  readonly position: Position;
  readonly key: string;
  readonly value: T;
  /** When it was appended, by the log's clock. */
  readonly atMs: number;
  /** Encoded, with what the log keeps with it. */
  readonly bytes: number;
  /** Only of taps that ask for it. */
  readonly encoded?: Encoded;
}

/** The value of a record as stored. */
export interface Encoded {
  /** Number of the writer's schema; null if the record is not as this log writes them. */
  readonly schema: number | null;
  /** Avro, by that schema. */
  readonly body: Buffer;
}

/** Where a tap begins or ends. */
export type From =
  | { readonly kind: 'earliest' }
  | { readonly kind: 'latest' }
  | { readonly kind: 'offset'; readonly offset: number }
  | { readonly kind: 'last'; readonly count: number }
  | { readonly kind: 'time'; readonly atMs: number };

/** How a group reads a topic. */
export interface ReadOptions {
  /** Who reads: progress is kept per (group, topic). By custom the name of the stage. */
  readonly group: string;
  /** Limit of unsettled deliveries per partition. */
  readonly inflightMax: number;
  /**
   * Called when records that were handed out and not settled moved to another process: that one repeats their
   * work, and what follows from them here is not written.
   */
  readonly revoked?: () => void;
}

/** Records that a log finds by its index: those with one of these keys, or about one of these subjects. */
export type Only = { readonly keys: readonly string[] } | { readonly subjects: readonly string[] };

/** Records, by offset, that must be read because the index lacks them. */
export interface Unindexed {
  readonly from: number;
  /** The one after the last. */
  readonly to: number;
  /** The index was changed by another program; otherwise it was never made. */
  readonly damaged: boolean;
}

/** Which records a tap gives, and how it is held back. */
export interface TapOptions {
  readonly from: From;
  /** Ends before this place, as of when the tap begins. Not with `follow`. */
  readonly to?: From;
  /** Go on at the end and wait for more, until unsubscribed. */
  readonly follow: boolean;
  /** Only of these; of all when absent. Fails with code `NOT_FOUND` if there is no such partition. */
  readonly partitions?: readonly number[];
  /**
   * Only these. The embedded log has an index of them; Kafka is read, of keys only the partitions that they
   * are in.
   */
  readonly only?: Only;
  /** With `only`: called for each stretch that is read record by record, in a log that has an index. */
  readonly unindexed?: (stretch: Unindexed) => void;
  /** Give the bytes of each record too. */
  readonly encoded?: boolean;
  /** Asked before every stretch of records; a promise holds the tap back until it resolves. */
  readonly room?: () => Promise<void> | null;
  /**
   * Called after every stretch with the number of records still ahead; 0 = at the end. On Kafka at most this
   * many: offsets have gaps.
   */
  readonly ahead?: (records: number) => void;
  /**
   * Called for a record that cannot be read, which is then skipped; without it the tap fails there. `encoded`
   * is null if its bytes are damaged.
   */
  readonly unreadable?: (position: Position, error: MillraceError, encoded: Encoded | null) => void;
}

/** What a commit keeps under a name: a number or a text. */
export type Mark = number | string;

/** The writes of one commit. */
export interface Tx {
  append<T>(topic: Topic<T>, value: T): void;
  /** Settles its originals and writes what rides on it. All parts of a split must be in one commit. */
  settle(delivery: Delivery<unknown>): void;
  /** A named number or text kept with the commit (a source's progress); read back by `Log.mark`. */
  mark(name: string, value: Mark): void;
}

/** The size of a topic: records, bytes as stored, and the lag of each group that reads it. */
export interface TopicStat {
  readonly topic: string;
  readonly records: number;
  readonly bytes: number;
  /** Unsettled records per reading group. */
  readonly lag: Readonly<Record<string, number>>;
}

/** How far everything has come at one moment. */
export interface Standing {
  /** Records per topic. */
  readonly ends: Readonly<Record<string, number>>;
  /** What each group has settled: topic, then group. */
  readonly settled: Readonly<Record<string, Readonly<Record<string, ProgressState>>>>;
  /** Named numbers and texts (`Tx.mark`). */
  readonly marks: Readonly<Record<string, Mark>>;
}

/** A topic that lacks records that were written to it. */
export interface LostTopic {
  readonly topic: string;
  /** The reason, as a sentence. */
  readonly what: string;
}

/** What to keep in the log itself; older or more goes to the archive. */
export interface Retention {
  /** Bytes of all large topics together. */
  readonly bytesMax?: number;
  readonly ageMaxMs?: number;
  /**
   * Folder for the segments, or the address of an object store; `archive` in the log's folder unless given.
   */
  readonly archive?: string;
  /** Records of a segment; 1,024 unless given. */
  readonly segmentRecords?: number;
}

/** What was moved. */
export interface Retained {
  readonly records: number;
  readonly segments: number;
}

/**
 * Durable topics: an embedded folder (`openLog`) or Kafka. What both guarantee is at the top of this file.
 */
export interface Log {
  /**
   * A cold Observable of deliveries. Fails with code `GROUP_BUSY` while another reader of the group is open
   * here.
   */
  read<T>(topic: Topic<T>, options: ReadOptions): Observable<Delivery<T>>;
  /**
   * What `write` appends, settles and marks, all or nothing; resolves once it is durable. Rejects with
   * `ENCODE` (a value breaks its contract), `HALF_SETTLED`, `SPENT`, `STALE` (a newer reader has the record)
   * or `CLOSED`; nothing of the commit is kept then.
   */
  commit(write: (tx: Tx) => void): Promise<void>;
  /**
   * The records at these positions, in order. Fails with code `NOT_FOUND` naming the first missing one.
   */
  fetch<T>(topic: Topic<T>, positions: readonly Position[]): Promise<readonly Stored<T>[]>;
  /**
   * Records as stored, for reading along: settles nothing. Fails with `DECODE` unless `unreadable` is
   * given.
   */
  tap<T>(topic: Topic<T>, options: TapOptions): Observable<Stored<T>>;
  /** What was last committed under this name, or 0. */
  mark(name: string): Promise<Mark>;
  /** Records of `topic` that `group` has not settled. */
  lag(topic: Topic<unknown>, group: string): Promise<number>;
  /** Every topic that the log knows. */
  stats(): Promise<readonly TopicStat[]>;
  /**
   * How far everything has come now, or had come right after the commit that appended the record at `after`.
   * Absent if a log does not know. Fails with code `NO_HISTORY` if it did not keep what `after` needs.
   */
  standing?(after?: { readonly topic: Topic<unknown>; readonly offset: number }): Promise<Standing>;
  /**
   * Posts what this process says about itself (JSON), replacing what it posted before. It is not a record: no
   * commit waits for it, and the newest may be missing. Absent if a log has no place for it.
   */
  post?(about: unknown): Promise<void>;
  /** What each process posted last. */
  posted?(): Promise<readonly unknown[]>;
  /** Topics whose records someone else deleted. Absent for a log where nobody else can. */
  lost?(): Promise<readonly LostTopic[]>;
  /**
   * Moves records beyond the limits out of the log into an archive, from which they are read as before. One
   * of the processes that share a run does it.
   */
  retain?(retention: Retention): Promise<Retained>;
  /** The id of the servers that keep the records, if there are servers and they have one. */
  readonly cluster?: string;
  close(): Promise<void>;
}
