/**
 * The embedded log: one folder, no server, one process that writes and any number that read.
 *
 * Keeps the contract of `log.ts`. Opened to write it holds the writer's lock until it is closed or the
 * process dies. Opened to read it can tap, fetch and give statistics of a live run; it looks for news
 * every `pollMs`, while the writer's own process is notified at once.
 */
import { defer, Observable, takeUntil } from 'rxjs';
import { type Clock, MillraceError, systemClock } from '../../base/index.ts';
import { type Candidate, largeOf, retain, type Shrinking } from '../archive/retain.ts';
import type { Delivery } from '../deliveries/delivery.ts';
import { settlementOf } from '../deliveries/settlement.ts';
import type {
  Log,
  Mark,
  ReadOptions,
  Retained,
  Retention,
  Standing,
  Stored,
  TapOptions,
  TopicStat,
  Tx,
} from '../log.ts';
import { closedLog, noPartition, noRecord, readOnlyLog } from '../logErrors.ts';
import { belongs, namesIn } from '../names.ts';
import type { Position } from '../position.ts';
import { Progress } from '../progress.ts';
import type { Topic } from '../topic.ts';
import { Board, type StatusBoard } from './board.ts';
import { type Append, Committer, type Settle } from './committer.ts';
import { AFTER_DAMAGE, type Envelope, HEADER_BYTES } from './envelope.ts';
import { GroupReader, GroupReaders } from './groupReader.ts';
import { standingAfter } from './history.ts';
import { hashesOf } from './keys/entries.ts';
import { KeyReader } from './keys/keyReader.ts';
import { Tail } from './keys/tail.ts';
import { Schemas } from './schemas.ts';
import { shrinkingStore } from './shrinkingStore.ts';
import { type LogStore, type Mode, Store } from './store.ts';
import { type Tappable, tapTopic } from './tapTopic.ts';
import { takeWriterLock } from './writerLock.ts';

/** Where the log is and how it is opened: `write` (one process at a time) or `read` (any number). */
export interface EmbeddedLogOptions {
  /** Made if it does not exist (mode `write`). */
  readonly folder: string;
  readonly mode: Mode;
  /** Gives records their time. */
  readonly clock?: Clock;
  /** Wait this long for more commits to share a transaction; 0 = only while one is being written. */
  readonly commitMs?: number;
  /** False = records are appended without an index by key; looking one up reads them all. */
  readonly index?: boolean;
  /** How often mode `read` looks for news. */
  readonly pollMs?: number;
  /** The topics that retention may shrink, where they are `large`. */
  readonly topics?: readonly Topic<unknown>[];
}

/** Opens the log in a folder. Fails with `LOCKED` (another process writes) or `NO_LOG` (none to read). */
export async function openLog(options: EmbeddedLogOptions): Promise<Log> {
  const { folder, mode, topics = [], clock = systemClock, ...rest } = options;
  const store = new Store(folder, mode);
  try {
    const unlock = mode === 'write' ? takeWriterLock(folder, store) : () => undefined;
    const large = largeOf(topics);
    return new EmbeddedLog({
      ...{ ...rest, store, mode, clock, unlock },
      board: new Board(folder),
      shrinking: ({ archive }) => shrinkingStore(store, large, folder, archive),
    });
  } catch (error) {
    await store.close();
    throw error;
  }
}

/** What a log of one writer is made of, wherever its records are. */
export interface LogMeans extends Pick<EmbeddedLogOptions, 'commitMs' | 'index' | 'pollMs'> {
  readonly store: LogStore;
  readonly mode: Mode;
  readonly clock: Clock;
  readonly board: StatusBoard;
  /** Lets another process write. */
  readonly unlock: () => void;
  /** The records that may leave the log. */
  readonly shrinking: (retention: Retention) => Shrinking<Candidate>;
  /** How a long tap gives other work its turn; by the event loop unless given. */
  readonly later?: (act: () => void) => void;
}

/** A log of one writer over a store. */
export class EmbeddedLog implements Log {
  readonly #store: LogStore;
  readonly #schemas: Schemas;
  readonly #readers = new GroupReaders();
  /** Null in mode `read`. */
  readonly #committer: Committer | null;
  readonly #unlock: () => void;
  readonly #pollMs: number;
  readonly #means: LogMeans;
  readonly #tails = new Map<string, Tail>();
  /** One retention at a time. */
  #retaining: Promise<Retained> | null = null;
  readonly #board: StatusBoard;
  /** Each ends a tap or a reader. */
  readonly #enders = new Set<() => void>();
  /** Emits when the log is closed: taps and readers complete. */
  readonly #closing$ = new Observable<void>((subscriber) => {
    const end = (): void => subscriber.next();
    this.#enders.add(end);
    return () => this.#enders.delete(end);
  });
  #closed = false;

  constructor(means: LogMeans) {
    const { store, mode, clock, commitMs = 0, pollMs = 100, index = true } = means;
    this.#store = store;
    this.#schemas = new Schemas(store);
    this.#pollMs = pollMs;
    this.#means = means;
    this.#board = means.board;
    this.#unlock = means.unlock;
    this.#committer =
      mode === 'write'
        ? new Committer(store, this.#schemas, {
            clock,
            commitMs,
            index,
            hashesAt: (topic, offset) => hashesOf(topic, this.#at(topic, offset).value),
          })
        : null;
  }

  read<T>(topic: Topic<T>, options: ReadOptions): Observable<Delivery<T>> {
    const deliveries$ = this.#readers.read({
      topic,
      options,
      shelf: {
        get: (of, offset) => this.#at(of, offset),
        body: (of, offset) => this.#envelope(of, offset).body,
      },
      committer: this.#writer(),
      settle: (delivery) => this.commit((tx) => tx.settle(delivery)),
    });
    return deliveries$.pipe(takeUntil(this.#closing$));
  }

  async commit(write: (tx: Tx) => void): Promise<void> {
    const committer = this.#writer();
    const appends: Append[] = [];
    const deliveries: Delivery<unknown>[] = [];
    const marks = new Map<string, Mark>();
    const append = (topic: Topic<unknown>, value: unknown): void => {
      this.#schemas.numberOf(topic); // fails here, for this commit alone
      const body = topic.codec.encode(value);
      appends.push({ topic, body, hashes: hashesOf(topic, value) });
    };
    write({
      append: (topic, value) => append(topic as Topic<unknown>, value),
      settle: (delivery) => void deliveries.push(delivery),
      mark: (name, value) => void marks.set(name, value),
    });
    const { roots, writes } = settlementOf(deliveries);
    for (const side of writes) append(side.topic, side.value);
    const readers = roots.map((root) => readerOf(root.reader));
    const settles: Settle[] = roots.map(({ topic, position }, i) => {
      return { topic, group: readers[i]!.group, offset: position.offset };
    });
    if (appends.length + settles.length + marks.size === 0) return;
    const committed = (): void => {
      for (const reader of readers) reader.settled();
    };
    await committer.commit({ appends, settles, marks, committed });
  }

  async fetch<T>(topic: Topic<T>, positions: readonly Position[]): Promise<readonly Stored<T>[]> {
    this.#fresh();
    const end = this.#end(topic.name);
    return positions.map(({ partition, offset }) => {
      if (partition !== 0) throw noPartition(topic.name, partition, 1);
      if (offset < 0 || offset >= end || !Number.isInteger(offset)) {
        throw noRecord(topic.name, { partition, offset }, end);
      }
      return this.#at(topic, offset);
    });
  }

  tap<T>(topic: Topic<T>, options: TapOptions): Observable<Stored<T>> {
    const { later } = this.#means;
    const tappable = {
      ...(later === undefined ? {} : { later }),
      end: () => this.#end(topic.name),
      at: (offset: number) => this.#at(topic, offset),
      timeAt: (offset: number) => this.#envelope(topic, offset).atMs,
      encodedAt: (offset: number) => this.#envelope(topic, offset),
      onMore: (wake: () => void) => this.#onMore(wake),
    };
    return defer(() => {
      this.#fresh();
      return tapTopic({ ...tappable, ...this.#finding(topic, options) }, options);
    }).pipe(takeUntil(this.#closing$));
  }

  /** For a tap on some records only: which of them may match. */
  #finding<T>(
    topic: Topic<T>,
    { only, unindexed }: TapOptions,
  ): Pick<Tappable<T>, 'candidate' | 'shows'> {
    if (only === undefined) return {};
    const names = namesIn(only);
    const tail = this.#tails.get(topic.name) ?? new Tail();
    this.#tails.set(topic.name, tail);
    const reader = new KeyReader(this.#store, { topic: topic.name, names, tail, unindexed });
    const belonging = belongs(topic, only);
    return {
      candidate: (offset, end) => reader.candidate(offset, end),
      shows: ({ key, value, position }) => {
        reader.seen(position.offset, () => hashesOf(topic, value));
        return belonging(key, value);
      },
    };
  }

  async mark(name: string): Promise<Mark> {
    this.#fresh();
    return this.#store.mark(name);
  }

  async lag(topic: Topic<unknown>, group: string): Promise<number> {
    this.#fresh();
    return this.#end(topic.name) - this.#progress(topic.name, group).settled;
  }

  async stats(): Promise<readonly TopicStat[]> {
    this.#fresh();
    return this.#store.heads().map(([topic, { end, bytes }]) => {
      const groups = this.#store.groups(topic);
      const lag = groups.map(([group, state]) => [group, end - new Progress(state).settled]);
      return { topic, records: end, bytes, lag: Object.fromEntries(lag) };
    });
  }

  async standing(after?: {
    readonly topic: Topic<unknown>;
    readonly offset: number;
  }): Promise<Standing> {
    this.#fresh();
    if (after !== undefined) {
      return standingAfter(this.#store.history(), after.topic.name, after.offset);
    }
    const heads = this.#store.heads();
    return {
      ends: Object.fromEntries(heads.map(([topic, { end }]) => [topic, end])),
      settled: Object.fromEntries(
        heads.map(([topic]) => [topic, Object.fromEntries(this.#store.groups(topic))]),
      ),
      marks: this.#store.marks(),
    };
  }

  async post(about: unknown): Promise<void> {
    this.#writer();
    await this.#board.post(about);
  }

  async posted(): Promise<readonly unknown[]> {
    this.#open();
    return this.#board.posted();
  }

  async retain(retention: Retention): Promise<Retained> {
    this.#writer();
    const { shrinking, clock } = this.#means;
    this.#retaining ??= retain(shrinking(retention), retention, clock.now()).finally(() => {
      this.#retaining = null;
    });
    return this.#retaining;
  }

  async close(): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    for (const end of [...this.#enders]) end();
    await this.#retaining?.catch(() => undefined);
    await this.#committer?.settled();
    this.#unlock();
    await this.#store.close();
  }

  #writer(): Committer {
    this.#open();
    if (this.#committer !== null) return this.#committer;
    throw readOnlyLog();
  }

  #open(): void {
    if (this.#closed) throw closedLog();
  }

  #fresh(): void {
    this.#open();
    if (this.#committer === null) this.#store.refresh();
  }

  #end(topic: string): number {
    return this.#committer?.end(topic) ?? this.#store.head(topic).end;
  }

  #progress(topic: string, group: string): Progress {
    return (
      this.#committer?.progress(topic, group) ?? new Progress(this.#store.progress(topic, group))
    );
  }

  #at<T>(topic: Topic<T>, offset: number): Stored<T> {
    const { atMs, body, schema } = this.#envelope(topic, offset);
    const value = this.#schemas.decoder(topic, schema)(body);
    const position = { partition: 0, offset };
    const bytes = HEADER_BYTES + body.length;
    return { topic: topic.name, position, key: topic.key(value), value, atMs, bytes };
  }

  #envelope(topic: Topic<unknown>, offset: number): Envelope {
    const envelope = this.#store.record(topic.name, offset);
    if (envelope !== undefined) return envelope;
    const place = `${topic.name}@${offset}`;
    throw new MillraceError('DAMAGED', `${place} is missing in the log; ${AFTER_DAMAGE}`, {
      context: { place },
    });
  }

  #onMore(wake: () => void): () => void {
    if (this.#committer !== null) return this.#committer.onCommit(wake);
    const timer = setInterval(() => {
      this.#store.refresh();
      wake();
    }, this.#pollMs);
    return () => clearInterval(timer);
  }
}

function readerOf(reader: object): GroupReader<unknown> {
  if (!(reader instanceof GroupReader)) {
    throw new MillraceError('STALE', 'this delivery was read from another log');
  }
  if (reader.stale) {
    throw new MillraceError(
      'STALE',
      `a newer reader of ${reader.topic} in group ${reader.group} has taken over this record`,
    );
  }
  return reader as GroupReader<unknown>;
}
