/**
 * One transactional producer: writes records and group offsets together, or not at all, exactly once.
 *
 * Its id is the worker's, so a process that starts under the same name takes it over: the open transaction
 * of the former is aborted, and whatever the former still tries is refused. Every transaction also writes
 * a numbered record of this writer to the state topic. When the outcome of a commit is unknown (the
 * connection died, the transaction timed out) the producer is begun anew, which decides what was open, and
 * that number tells whether it was made.
 */
import type { Clock } from '../../base/clock.ts';
import { MillraceError } from '../../base/errors.ts';
import { type Broker, type MemberIdentity, type ProducerState, packingOf } from './kafkajs.ts';
import type { Link, Target } from './link.ts';
import { commitOffsets, type OffsetToCommit } from './offsetRequests.ts';
import { isGroupMoved, isProducerLost, kindOf } from './problems.ts';
import { type Message, NO_BYTES, type Packing } from './recordBatch.ts';
import { produce } from './recordRequests.ts';
import {
  type CommitNote,
  type Count,
  commitKey,
  NEW_WRITER,
  type StateTopic,
  type WriterState,
  writerKey,
} from './stateTopic.ts';

/** Records for one partition. `topic` is the broker's name. */
export interface Writes {
  readonly topic: string;
  readonly partition: number;
  readonly messages: readonly Message[];
}

export interface OffsetsOfGroup {
  readonly member: MemberIdentity;
  readonly topic: string;
  readonly offsets: readonly OffsetToCommit[];
}

export interface Transaction {
  readonly writes: readonly Writes[];
  readonly offsets: readonly OffsetsOfGroup[];
  /** Entries of the state topic beside the writer's own. */
  readonly state: ReadonlyMap<string, unknown>;
  /** What it adds to the topics, by our name. */
  readonly counts: ReadonlyMap<string, Count>;
  readonly note: CommitNote | null;
  readonly atMs: number;
}

/** Where the last record of a partition that was written lies. */
export type Written = ReadonlyMap<string, number>;

/** A group refused offsets: its member is of an older generation. Nothing was committed. */
export class GroupMoved extends Error {
  readonly member: MemberIdentity;

  constructor(member: MemberIdentity, cause: unknown) {
    super(`group ${member.groupId} has a newer generation`, { cause });
    this.member = member;
  }
}

export interface TransactorOptions {
  readonly run: string;
  readonly worker: string;
  readonly clock: Clock;
  /** The broker aborts a transaction that is open for longer. */
  readonly timeoutMs: number;
}

/** Of one partition in one request. */
const REQUEST_BYTES_MAX = 2 ** 20;

const place = (topic: string, partition: number): string => `${topic}/${partition}`;

export class Transactor {
  readonly #link: Link;
  readonly #state: StateTopic;
  readonly #options: TransactorOptions;
  readonly #packing: Packing | null;
  #producer: ProducerState | null = null;
  /** Next number of each partition in this epoch. */
  readonly #sequences = new Map<string, number>();
  #writer: WriterState = NEW_WRITER;

  constructor(link: Link, state: StateTopic, options: TransactorOptions) {
    this.#link = link;
    this.#state = state;
    this.#options = options;
    this.#packing = packingOf(link.settings.compression);
  }

  /** Takes the worker's name over from whoever had it, and reads what it has done so far. */
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
        // The former one has begun anew meanwhile; once it sees our record it gives up.
        if (!isProducerLost(error)) throw error;
        this.#state.distrust();
      }
    }
  }

  /** Rejects with `GroupMoved`, or `FENCED` when another process has taken over; then nothing was written. */
  async run(transaction: Transaction): Promise<Written> {
    if (this.#producer === null) {
      await this.#begin();
      // What failed last may have been made after all.
      this.#writer = await this.#mustBeOurs(this.#writer);
    }
    const writer = this.#next(transaction.counts);
    let written: Written = new Map();
    for (;;) {
      try {
        written = await this.#attempt(transaction, writer);
        break;
      } catch (error) {
        this.#producer = null; // what is open will be aborted
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

  /** Gets an epoch of its own; on return nothing of an older one is undecided. */
  async #begin(): Promise<void> {
    this.#sequences.clear();
    const { producerId, producerEpoch } = await this.#link.ask(this.#coordinator, (broker) =>
      broker.initProducerId({
        transactionalId: this.#id,
        transactionTimeout: this.#options.timeoutMs,
      }),
    );
    this.#producer = { transactionalId: this.#id, producerId, producerEpoch };
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
   * Beginning anew refuses that process in turn; it finds its own later record, and then we find it too.
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
      `another process has taken over worker "${worker}" of run ${run} and goes on with it; this one stops, ` +
        'nothing is lost. To run both, give each a name of its own with --worker',
      { context: { run, worker } },
    );
  }

  async #attempt(transaction: Transaction, writer: WriterState): Promise<Written> {
    const writes = [...transaction.writes, this.#stateWrites(transaction, writer)];
    const sending = this.#toCoordinator((broker, producer) =>
      broker.addPartitionsToTxn({ ...producer, topics: byTopic(writes) }),
    ).then(() => this.#sendAll(writes));
    const committing = this.#sendOffsets(transaction.offsets);
    const [sent, offsets] = await Promise.allSettled([sending, committing]);
    if (sent.status === 'rejected') throw sent.reason;
    if (offsets.status === 'rejected') throw offsets.reason;
    await this.#toCoordinator((broker, producer) =>
      broker.endTxn({ ...producer, transactionResult: true }),
    );
    return sent.value;
  }

  #stateWrites({ state, note, atMs }: Transaction, writer: WriterState): Writes {
    const noted = note === null ? [] : [[this.#noteKey(writer), note] as const];
    const entries = [[this.#key, writer] as const, ...noted, ...state];
    const messages = entries.map(([key, value]) => ({
      key,
      lead: NO_BYTES,
      value: Buffer.from(JSON.stringify(value)),
      headers: {},
      timestamp: atMs,
    }));
    return { topic: this.#state.name, partition: 0, messages };
  }

  async #sendAll(writes: readonly Writes[]): Promise<Written> {
    const sent = await Promise.all(
      writes.map(async (write) => {
        let last = -1;
        for (const part of parts(write)) last = await this.#send(part);
        return [place(write.topic, write.partition), last] as const;
      }),
    );
    return new Map(sent);
  }

  /** Offset of its last record; -1 where the broker had it already and does not say. */
  async #send({ topic, partition, messages }: Writes): Promise<number> {
    const at = place(topic, partition);
    const firstSequence = this.#sequences.get(at) ?? 0;
    const owner = { ...this.#mine(), firstSequence };
    const production = { topic, partition, messages, packing: this.#packing, owner };
    const base = await this.#link.ask({ kind: 'leader', topic, partition }, async (broker) => {
      try {
        return await produce(broker, production);
      } catch (error) {
        if (kindOf(error) === 'DUPLICATE_SEQUENCE_NUMBER') return -1;
        throw error;
      }
    });
    this.#sequences.set(at, firstSequence + messages.length);
    return base < 0 ? -1 : base + messages.length - 1;
  }

  async #sendOffsets(groups: readonly OffsetsOfGroup[]): Promise<void> {
    for (const { member, topic, offsets } of groups) {
      const { groupId } = member;
      await this.#toCoordinator((broker, producer) =>
        broker.addOffsetsToTxn({ ...producer, groupId }),
      );
      try {
        const producer = this.#mine();
        await this.#link.ask({ kind: 'coordinator', of: 'group', id: groupId }, (broker) =>
          commitOffsets(broker, producer, member, topic, offsets),
        );
      } catch (error) {
        throw isGroupMoved(error) ? new GroupMoved(member, error) : error;
      }
    }
  }

  #mine(): ProducerState {
    if (this.#producer === null) throw new Error('the producer has not begun');
    return this.#producer;
  }

  #toCoordinator<T>(request: (broker: Broker, producer: ProducerState) => Promise<T>): Promise<T> {
    const producer = this.#mine();
    return this.#link.ask(this.#coordinator, (broker) => request(broker, producer));
  }
}

function nothing(atMs: number): Transaction {
  return { writes: [], offsets: [], state: new Map(), counts: new Map(), note: null, atMs };
}

function byTopic(writes: readonly Writes[]): { topic: string; partitions: number[] }[] {
  const topics = new Map<string, number[]>();
  for (const { topic, partition } of writes) {
    topics.set(topic, [...(topics.get(topic) ?? []), partition]);
  }
  return [...topics].map(([topic, partitions]) => ({ topic, partitions }));
}

/** In requests that the broker takes: a batch above its limit is refused whole. */
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
