/**
 * One transactional producer: writes records and group offsets together, or not at all, exactly once.
 *
 * Its id is the worker's, so a process that starts under the same name takes it over: the predecessor's open
 * transaction is aborted, and whatever it still tries is refused. Every transaction also writes a numbered
 * record of this writer to the state topic. When the outcome of a commit is unknown (the connection died, the
 * transaction timed out) the producer is initialised again, which decides what was open, and that number
 * shows whether it was made.
 */
import {
  addOffsetsToTxnV3,
  addPartitionsToTxnV3,
  endTxnV3,
  initProducerIdV3,
  NumericMap,
  txnOffsetCommitV3,
} from '@platformatic/kafka';
import { type Clock, MillraceError } from '../../base/index.ts';
import type { Compression } from '../foreign/kafkaUrl.ts';
import type { Link, Target } from './link.ts';
import type { Member } from './membership.ts';
import { isGroupMoved, isProducerLost } from './problems.ts';
import { jsonMessage, type Message, produce, type Writes } from './records.ts';
import {
  type CommitNote,
  type Count,
  commitKey,
  NEW_WRITER,
  type StateTopic,
  type WriterState,
  writerKey,
} from './stateTopic.ts';

export interface OffsetToCommit {
  readonly partition: number;
  readonly offset: number;
  readonly metadata: string;
}

export interface OffsetsOfGroup {
  readonly member: Member;
  /** The broker's name. */
  readonly topic: string;
  readonly offsets: readonly OffsetToCommit[];
}

export interface Transaction {
  readonly writes: readonly Writes[];
  readonly offsets: readonly OffsetsOfGroup[];
  /** Entries for the state topic besides the writer's own. */
  readonly state: ReadonlyMap<string, unknown>;
  /** What it adds to the topics, by our names. */
  readonly counts: ReadonlyMap<string, Count>;
  readonly note: CommitNote | null;
  readonly atMs: number;
}

/** The offset of the last record written to each partition. */
export type Written = ReadonlyMap<string, number>;

/** A group refused the offsets: its member is of an older generation. Nothing was committed. */
export class GroupMoved extends Error {
  readonly member: Member;

  constructor(member: Member, cause: unknown) {
    super(`group ${member[0]} has a newer generation`, { cause });
    this.member = member;
  }
}

export interface TransactorOptions {
  readonly run: string;
  readonly worker: string;
  readonly clock: Clock;
  /** The broker aborts a transaction that stays open for longer. */
  readonly timeoutMs: number;
}

/** For one partition in one request. */
const REQUEST_BYTES_MAX = 2 ** 20;

/** For an id that has none yet, or whose holder is being replaced. */
const NEW_PRODUCER = [-1n, -1] as const;
const UNKNOWN_EPOCH = -1;
const COMMIT = true;

/** As the library names it, by which it finds the next number of a record. */
const placeOf = ({ topic, partition }: Writes): string => `${topic}:${partition}`;

/** An epoch of the producer, as in its records; `sequences` has the next number of each partition. */
interface Epoch {
  readonly transactionalId: string;
  readonly producerId: bigint;
  readonly producerEpoch: number;
  readonly sequences: NumericMap;
  readonly compression: Compression;
}

/** As the requests of a transaction begin. */
const ownerOf = ({ transactionalId, producerId, producerEpoch }: Epoch) =>
  [transactionalId, producerId, producerEpoch] as const;

export class Transactor {
  readonly #link: Link;
  readonly #state: StateTopic;
  readonly #options: TransactorOptions;
  #epoch: Epoch | null = null;
  #writer: WriterState = NEW_WRITER;

  constructor(link: Link, state: StateTopic, options: TransactorOptions) {
    this.#link = link;
    this.#state = state;
    this.#options = options;
  }

  /** Takes over the worker's name from the process that had it, and reads how far that one came. */
  async open(): Promise<void> {
    for (;;) {
      await this.#begin();
      await this.#state.settled();
      const before = this.#state.get<WriterState>(this.#key) ?? NEW_WRITER;
      this.#writer = { ...before, incarnation: before.incarnation + 1 };
      const writer = this.#next(new Map());
      try {
        await this.#attempt(nothing(this.#options.clock.now()), writer);
        this.#writer = writer;
        this.#state.committed(this.#key, writer);
        return;
      } catch (error) {
        // The previous process has initialised its producer again meanwhile; it gives up once it sees our
        // record.
        if (!isProducerLost(error)) throw error;
        this.#state.distrust();
      }
    }
  }

  /** Rejects with `GroupMoved`, or `FENCED` when another process has taken over; then nothing was written. */
  async run(transaction: Transaction): Promise<Written> {
    if (this.#epoch === null) {
      await this.#begin();
      // The last attempt may have succeeded after all.
      this.#writer = await this.#mustBeOurs(this.#writer);
    }
    const writer = this.#next(transaction.counts);
    let written: Written = new Map();
    for (;;) {
      try {
        written = await this.#attempt(transaction, writer);
        break;
      } catch (error) {
        this.#epoch = null; // what is open will be aborted
        if (!isProducerLost(error)) throw error;
        if (await this.#wasCommitted(writer)) break;
      }
    }
    this.#writer = writer;
    this.#state.committed(this.#key, writer);
    for (const [key, value] of transaction.state) this.#state.committed(key, value);
    return written;
  }

  get #id(): string {
    return `${this.#options.run}.${this.#options.worker}`;
  }

  get #key(): string {
    return writerKey(this.#options.worker);
  }

  #noteKey({ commit }: WriterState): string {
    return commitKey(this.#options.worker, commit);
  }

  get #coordinator(): Target {
    return { kind: 'coordinator', of: 'transaction', id: this.#id };
  }

  /** Gets a new epoch; on return nothing of an older one is undecided. */
  async #begin(): Promise<void> {
    const { producerId, producerEpoch } = await this.#link.ask(
      this.#coordinator,
      initProducerIdV3.api,
      [this.#id, this.#options.timeoutMs, ...NEW_PRODUCER],
    );
    this.#epoch = {
      transactionalId: this.#id,
      producerId,
      producerEpoch,
      sequences: new NumericMap(),
      compression: this.#link.settings.compression,
    };
  }

  #next(counts: ReadonlyMap<string, Count>): WriterState {
    const sums: Record<string, Count> = { ...this.#writer.counts };
    for (const [topic, { records, bytes }] of counts) {
      const before = sums[topic] ?? { records: 0, bytes: 0 };
      sums[topic] = { records: before.records + records, bytes: before.bytes + bytes };
    }
    return { ...this.#writer, commit: this.#writer.commit + 1, counts: sums };
  }

  /**
   * The producer was refused: the broker gave the transaction up, or another process goes on in our name.
   * Initialising again shuts that process out in turn; it finds its own later record, and then we find it
   * too.
   */
  async #wasCommitted(writer: WriterState): Promise<boolean> {
    await this.#begin(); // decides what is open
    const found = await this.#mustBeOurs(writer);
    return found.commit >= writer.commit;
  }

  async #mustBeOurs({ incarnation }: WriterState): Promise<WriterState> {
    this.#state.distrust();
    await this.#state.settled();
    const found = this.#state.get<WriterState>(this.#key) ?? NEW_WRITER;
    if (found.incarnation <= incarnation) return found;
    const { run, worker } = this.#options;
    throw new MillraceError(
      'FENCED',
      `another process has taken over worker "${worker}" of run ${run}; this one stops, ` +
        'nothing is lost. To run both, give each its own name with --worker',
      { context: { run, worker } },
    );
  }

  async #attempt(transaction: Transaction, writer: WriterState): Promise<Written> {
    if (this.#epoch === null) throw new Error('the producer has not started');
    const epoch = this.#epoch;
    const writes = [...transaction.writes, this.#stateWrites(transaction, writer)];
    const added = [{ ...epoch, verifyOnly: false, topics: byTopic(writes) }];
    const sending = this.#link
      .ask(this.#coordinator, addPartitionsToTxnV3.api, [added], {
        topics: writes.map((write) => write.topic),
      })
      .then(() => Promise.all(writes.map((write) => this.#send(write, epoch))));
    const committing = this.#sendOffsets(transaction.offsets, epoch);
    const [sent, offsets] = await Promise.allSettled([sending, committing]);
    if (sent.status === 'rejected') throw sent.reason;
    if (offsets.status === 'rejected') throw offsets.reason;
    await this.#link.ask(this.#coordinator, endTxnV3.api, [...ownerOf(epoch), COMMIT]);
    return new Map(sent.value);
  }

  #stateWrites({ state, note, atMs }: Transaction, writer: WriterState): Writes {
    const noted = note === null ? [] : [[this.#noteKey(writer), note] as const];
    const entries = [[this.#key, writer] as const, ...noted, ...state];
    const topic = this.#state.name;
    const messages = entries.map(([key, value]) => jsonMessage(topic, key, value, atMs));
    return { topic, partition: 0, messages };
  }

  /** Offset of its last record; -1 if the broker already had it and does not say. */
  async #send(write: Writes, epoch: Epoch): Promise<readonly [place: string, last: number]> {
    let last = -1;
    for (const part of parts(write)) {
      const base = await produce(this.#link, part, epoch);
      epoch.sequences.postIncrement(placeOf(part), part.messages.length, 0);
      last = base < 0 ? -1 : base + part.messages.length - 1;
    }
    return [`${write.topic}/${write.partition}`, last];
  }

  async #sendOffsets(groups: readonly OffsetsOfGroup[], epoch: Epoch): Promise<void> {
    const [id, ...producer] = ownerOf(epoch);
    for (const { member, topic, offsets } of groups) {
      const [groupId] = member;
      await this.#link.ask(this.#coordinator, addOffsetsToTxnV3.api, [id, ...producer, groupId]);
      const partitions = offsets.map(({ partition, offset, metadata }) => ({
        partitionIndex: partition,
        committedOffset: BigInt(offset),
        committedLeaderEpoch: UNKNOWN_EPOCH,
        committedMetadata: metadata,
      }));
      try {
        // Refused when the member is no longer of the group's generation: a replaced reader commits nothing
        // (KIP-447).
        await this.#link.ask(
          { kind: 'coordinator', of: 'group', id: groupId },
          txnOffsetCommitV3.api,
          [id, groupId, ...producer, ...ofGeneration(member), [{ name: topic, partitions }]],
        );
      } catch (error) {
        throw isGroupMoved(error) ? new GroupMoved(member, error) : error;
      }
    }
  }
}

const ofGeneration = ([, ...rest]: Member) => rest;

function nothing(atMs: number): Transaction {
  return { writes: [], offsets: [], state: new Map(), counts: new Map(), note: null, atMs };
}

function byTopic(writes: readonly Writes[]): { name: string; partitions: number[] }[] {
  const topics = new Map<string, number[]>();
  for (const { topic, partition } of writes) {
    topics.set(topic, [...(topics.get(topic) ?? []), partition]);
  }
  return [...topics].map(([name, partitions]) => ({ name, partitions }));
}

/** In requests that the broker accepts: it refuses a batch above its limit whole. */
function* parts({ topic, partition, messages }: Writes): Generator<Writes> {
  let part: Message[] = [];
  let bytes = 0;
  for (const message of messages) {
    const size = message.key.length + message.value.length;
    if (part.length > 0 && bytes + size > REQUEST_BYTES_MAX) {
      yield { topic, partition, messages: part };
      part = [];
      bytes = 0;
    }
    part.push(message);
    bytes += size;
  }
  yield { topic, partition, messages: part };
}
