/**
 * Writes the records of a run to another Kafka cluster, through kafkajs's documented producer.
 *
 * Guarantees: each record is there once, in the order of its partition, whatever is killed. A transaction
 * holds records of all topics and, as committed offsets of the mirror's own group, how far it has read.
 * Reopening the mirror ends what another process left open (one transactional id), reads those offsets and
 * continues there. What waits in memory is bounded (`WAITING`).
 */
import type { Admin, Kafka, Producer, ProducerBatch, TopicMessages, Transaction } from 'kafkajs';
import { Subscription } from 'rxjs';
import { hasCode, MillraceError, messageOf, type SleepClock } from '../../base/index.ts';
import { wholeProducer } from '../../streams/foreign/index.ts';
import type { Log, Stored, Topic } from '../../streams/index.ts';

export interface MirrorOptions {
  readonly log: Log;
  readonly topics: readonly Topic<unknown>[];
  readonly kafka: Kafka;
  /** Identifies the mirror: one process with this id writes at a time, and knows how far it came. */
  readonly id: string;
  /** The topic's name in the other cluster. */
  readonly nameOf: (topic: string) => string;
  /** The value of a message. */
  readonly encode: (topic: Topic<unknown>, value: unknown) => Promise<Buffer> | Buffer;
  /** For topics that are created: at least as many as the run's own have. */
  readonly partitions: number;
  /** -1: the broker's default. */
  readonly replication: number;
  readonly compression: number;
  /** Wait for more at the end, until `signal` aborts. */
  readonly follow: boolean;
  readonly signal: AbortSignal;
  readonly clock: SleepClock;
  /** Called after each transaction with what was written; and with failures that are retried. */
  readonly written: (records: number) => void;
  readonly notice: (line: string) => void;
}

const WAITING = { records: 1000, bytes: 4 * 2 ** 20 };
/** For topics that are created: a trajectory may be larger than the megabyte that brokers take by default. */
const MESSAGE_BYTES_MAX = 16 * 2 ** 20;
const PAUSE_MS = 2000;
/** How soon, and how often, a transaction is retried while the brokers finish the one before. */
const DECIDING_MS = 20;
const DECIDING_MAX = 250;
/** A mirror that does not follow gives up when this many attempts in a row wrote nothing. */
const ATTEMPTS_MAX = 10;

/** Fails with code `FENCED` if another process took the mirror over, or `KAFKA`. */
export async function mirror(options: MirrorOptions): Promise<void> {
  const { follow, signal, clock, notice } = options;
  for (let attempt = 1; !signal.aborted; attempt++) {
    const turn = new Turn(options, () => {
      attempt = 1;
    });
    try {
      return await turn.run();
    } catch (error) {
      if (signal.aborted) return;
      const failed = asFailure(error, options.id);
      if (failed !== null) throw failed;
      if (!follow && attempt >= ATTEMPTS_MAX) throw kafkaError(error);
      notice(`${messageOf(error)}; resuming from the last transaction in ${PAUSE_MS / 1000} s`);
      await clock.sleep(PAUSE_MS, signal).catch(() => undefined);
    } finally {
      await turn.close();
    }
  }
}

type SentOffsets = Parameters<Transaction['sendOffsets']>[0];

interface Failure {
  readonly type?: string;
  readonly cause?: { readonly type?: string };
}

/** The protocol's name of the error, or ''. */
function typeOf(error: unknown): string {
  const { type, cause } = error as Failure;
  return type ?? cause?.type ?? '';
}

/** An error that another attempt cannot cure. */
function asFailure(error: unknown, id: string): MillraceError | null {
  if (error instanceof MillraceError && !hasCode(error, 'KAFKA')) return error;
  const type = typeOf(error);
  if (/FENCED|INVALID_PRODUCER_EPOCH/.test(type)) {
    return new MillraceError(
      'FENCED',
      `another process now mirrors this run to the same place, or this one stalled for longer than the broker allows (${id}); start only one mirror`,
    );
  }
  if (/AUTHORIZATION|SASL|MESSAGE_TOO_LARGE|INVALID_REPLICATION|INVALID_TOPIC/.test(type)) {
    return kafkaError(error);
  }
  return null;
}

function kafkaError(cause: unknown): MillraceError {
  return new MillraceError('KAFKA', `the mirror's Kafka cluster: ${messageOf(cause)}`, { cause });
}

/** From one connection to its loss. */
class Turn {
  readonly #options: MirrorOptions;
  readonly #progressed: () => void;
  readonly #admin: Admin;
  readonly #producer: Producer;
  readonly #taps = new Subscription();
  #waiting: { readonly topic: Topic<unknown>; readonly stored: Stored<unknown> }[] = [];
  #bytes = 0;
  /** Topics that have been read to their end. */
  #over = 0;
  #failure: { readonly error: unknown } | null = null;
  #wake = (): void => undefined;
  #drained: (() => void)[] = [];

  constructor(options: MirrorOptions, progressed: () => void) {
    this.#options = options;
    this.#progressed = progressed;
    this.#admin = options.kafka.admin();
    this.#producer = wholeProducer(options.kafka, { transactionalId: options.id });
  }

  async run(): Promise<void> {
    await this.#producer.connect();
    await this.#admin.connect();
    // Comes first: a new transaction begins only once the one before is decided everywhere, so the offsets
    // are final.
    await (await this.#producer.transaction()).abort();
    await this.#makeTopics();
    const { topics, signal } = this.#options;
    const wake = (): void => this.#wake();
    signal.addEventListener('abort', wake);
    try {
      const begins = await this.#begins();
      for (const topic of topics) this.#read(topic, begins.get(topic.name)!);
      while (await this.#more()) await this.#write();
    } finally {
      signal.removeEventListener('abort', wake);
    }
  }

  async close(): Promise<void> {
    this.#taps.unsubscribe();
    this.#release();
    await Promise.allSettled([this.#producer.disconnect(), this.#admin.disconnect()]);
  }

  async #makeTopics(): Promise<void> {
    const { topics, nameOf, partitions, replication } = this.#options;
    const there = new Set(await this.#admin.listTopics());
    const missing = topics.map(({ name }) => nameOf(name)).filter((name) => !there.has(name));
    if (missing.length === 0) return;
    await this.#admin.createTopics({
      waitForLeaders: true,
      topics: missing.map((topic) => ({
        topic,
        numPartitions: partitions,
        replicationFactor: replication,
        configEntries: [
          { name: 'max.message.bytes', value: String(MESSAGE_BYTES_MAX) },
          // Records keep their time, so brokers would at once delete those of an old run.
          { name: 'retention.ms', value: '-1' },
        ],
      })),
    });
  }

  /** First offset to mirror, by topic and partition of the run. */
  async #begins(): Promise<ReadonlyMap<string, ReadonlyMap<number, number>>> {
    const { topics, nameOf, id } = this.#options;
    // Everything the group has: if topics are named, kafkajs leaves out those whose metadata it lacks so far.
    const offsets = await this.#admin.fetchOffsets({ groupId: id });
    return new Map(
      topics.map(({ name }) => {
        const known = offsets.find(({ topic }) => topic === nameOf(name))?.partitions ?? [];
        return [name, new Map(known.map((at) => [at.partition, Math.max(0, Number(at.offset))]))];
      }),
    );
  }

  #read(topic: Topic<unknown>, begins: ReadonlyMap<number, number>): void {
    const { log, follow, notice } = this.#options;
    const offset = Math.min(...(begins.size === 0 ? [0] : begins.values()));
    const records$ = log.tap(topic, {
      from: { kind: 'offset', offset },
      follow,
      room: () => this.#room(),
      unreadable: ({ partition, offset: at }, error) =>
        notice(`skipped ${topic.name}@${partition}/${at}: ${error.message}`),
    });
    this.#taps.add(
      records$.subscribe({
        next: (stored) => {
          const { partition, offset: at } = stored.position;
          if (at < (begins.get(partition) ?? 0)) return;
          this.#waiting.push({ topic, stored });
          this.#bytes += stored.bytes;
          this.#wake();
        },
        error: (error: unknown) => {
          this.#failure = { error };
          this.#wake();
        },
        complete: () => {
          this.#over += 1;
          this.#wake();
        },
      }),
    );
  }

  #room(): Promise<void> | null {
    const full = this.#waiting.length >= WAITING.records || this.#bytes >= WAITING.bytes;
    return full ? new Promise((resolve) => void this.#drained.push(resolve)) : null;
  }

  #release(): void {
    for (const drained of this.#drained.splice(0)) drained();
  }

  async #more(): Promise<boolean> {
    const { signal, topics } = this.#options;
    while (this.#waiting.length === 0) {
      if (this.#failure !== null) throw this.#failure.error;
      if (signal.aborted || this.#over === topics.length) return false;
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
    return !signal.aborted;
  }

  /** Everything that waits, in one transaction. */
  async #write(): Promise<void> {
    const { id, nameOf, encode, compression, written, clock, signal } = this.#options;
    const taken = this.#waiting;
    this.#waiting = [];
    this.#bytes = 0;
    const messages = new Map<string, TopicMessages>();
    const next = new Map<string, Map<number, number>>();
    for (const { topic, stored } of taken) {
      const name = nameOf(topic.name);
      const { partition, offset } = stored.position;
      const value = await encode(topic, stored.value);
      const of = messages.get(name) ?? { topic: name, messages: [] };
      const headers = { position: `${partition}/${offset}` };
      of.messages.push({ key: stored.key, value, timestamp: String(stored.atMs), headers });
      messages.set(name, of);
      next.set(name, (next.get(name) ?? new Map<number, number>()).set(partition, offset + 1));
    }
    const batch = { topicMessages: [...messages.values()], compression };
    const offsets = {
      consumerGroupId: id,
      topics: [...next].map(([topic, partitions]) => ({
        topic,
        partitions: [...partitions].map(([partition, offset]) => ({
          partition,
          offset: String(offset),
        })),
      })),
    };
    for (let attempt = 1; !(await this.#commit(batch, offsets, attempt)); attempt++) {
      await clock.sleep(DECIDING_MS, signal);
    }
    this.#progressed();
    written(taken.length);
    this.#release();
  }

  /** Whether it was committed: not while the brokers are still writing the end of the one before. */
  async #commit(batch: ProducerBatch, offsets: SentOffsets, attempt: number): Promise<boolean> {
    const transaction = await this.#producer.transaction();
    try {
      await transaction.sendBatch(batch);
      await transaction.sendOffsets(offsets);
      await transaction.commit();
      return true;
    } catch (error) {
      await transaction.abort().catch(() => undefined);
      if (typeOf(error) === 'CONCURRENT_TRANSACTIONS' && attempt < DECIDING_MAX) return false;
      throw error;
    }
  }
}
