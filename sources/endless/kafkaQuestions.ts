/**
 * Questions that others write to a Kafka topic, as plain JSON or as Avro in Confluent's wire form.
 *
 * It reads by kafkajs's documented consumer, in a group that is new at every start: the run's own log says
 * where to continue, with a cursor for each partition, and nothing is committed to the broker. A record that
 * is not a question is a dead letter with topic, partition and offset. At most one fetch of a partition is in
 * memory; none is fetched ahead of demand. A topic that ends before the cursor was deleted and recreated: a
 * dead letter says so, and it is read from its beginning. If offsets are missing, the broker is asked where
 * the partition begins now: compaction and the marks of transactions leave gaps too, and only what is before
 * that beginning was deleted.
 */
import { setTimeout as after } from 'node:timers/promises';
import type { Consumer, EachBatchPayload, Kafka, KafkaMessage } from 'kafkajs';
import { freshName, MillraceError, messageOf } from '../../base/index.ts';
import { foreignReader } from '../../streams/contracts/index.ts';
import {
  type Environment,
  type ForeignTopic,
  foreignKafka,
  foreignTopic,
  HttpRegistry,
  type SchemaRegistry,
  unseal,
} from '../../streams/foreign/index.ts';
import type { Opening, ResumableItem } from '../../streams/index.ts';
import { parsed } from '../json.ts';
import type { QuestionRow } from '../questionRow.ts';
import type { RawRow } from '../rawRow.ts';
import { type ArrivalRules, arrival } from './arrival.ts';
import { Channel } from './channel.ts';
import type { EndlessQuestions } from './endlessQuestions.ts';

export interface KafkaQuestionsOptions extends ArrivalRules {
  readonly env?: Environment;
}

/** Records waiting to be taken, besides the rest of their fetch. */
const WAITING_MAX = 64;
const HEARTBEAT_MS = 1000;
const FETCH_BYTES = 1024 * 1024;
/** How long the broker holds a fetch without records; a stop waits as long. kafkajs would take five seconds. */
const FETCH_WAIT_MS = 500;
/** How soon to read partitions added to the topic; kafkajs would take five minutes. */
const METADATA_MS = 30_000;
const SCHEMAS_MAX = 1024;

/**
 * The questions of `kafka://host:port/topic`. `?from=latest` begins with what comes (default: `earliest`);
 * `?registry=http://…` names the registry of Avro schemas. Fails with code `USAGE`.
 */
export function kafkaQuestions(
  address: string,
  { env = {}, ...rules }: KafkaQuestionsOptions = {},
): EndlessQuestions {
  const foreign = foreignTopic(address, env, ['from']);
  const { from = 'earliest' } = foreign.own;
  if (from !== 'earliest' && from !== 'latest') {
    throw new MillraceError('USAGE', `from=${from}: must be earliest or latest`);
  }
  return {
    kind: 'resumable',
    name: foreign.shown,
    open: (opening) => new Reading(foreign, opening, rules).items(from),
  };
}

/**
 * A record; or instead where the reader stood in a topic that was recreated since, or the records up to `low`
 * that the broker deleted before they were read.
 */
type Taken =
  | { readonly partition: number; readonly message: KafkaMessage }
  | { readonly partition: number; readonly lost: bigint }
  | { readonly partition: number; readonly deleted: bigint; readonly low: bigint };

class Reading {
  readonly #foreign: ForeignTopic;
  readonly #opening: Opening;
  readonly #rules: ArrivalRules;
  readonly #values: ForeignValues;
  readonly #channel = new Channel<Taken>(WAITING_MAX);
  /** Offset of the next record of each partition. */
  readonly #next = new Map<number, bigint>();
  /** The current beginning of a partition. */
  #lowOf = async (_partition: number): Promise<bigint> => 0n;

  constructor(foreign: ForeignTopic, opening: Opening, rules: ArrivalRules) {
    this.#foreign = foreign;
    this.#opening = opening;
    this.#rules = rules;
    const { registry } = foreign.settings;
    this.#values = new ForeignValues(registry === null ? null : new HttpRegistry(registry, ''));
  }

  async *items(from: 'earliest' | 'latest'): AsyncGenerator<ResumableItem<QuestionRow>, void> {
    const { topic, shown } = this.#foreign;
    const { signal } = this.#opening;
    const kafka = await foreignKafka(this.#foreign, 'millrace');
    yield* this.#begin(kafka, from);
    const admin = kafka.admin();
    const consumer = kafka.consumer({
      groupId: `millrace-${freshName()}`,
      maxBytesPerPartition: FETCH_BYTES,
      maxWaitTimeInMs: FETCH_WAIT_MS,
      metadataMaxAge: METADATA_MS,
      allowAutoTopicCreation: false,
    });
    try {
      await admin.connect().catch((error: unknown) => {
        throw broken(shown, error);
      });
      this.#lowOf = async (partition) => {
        const ends = await admin.fetchTopicOffsets(topic);
        return BigInt(ends.find((end) => end.partition === partition)?.low ?? 0);
      };
      await this.#start(consumer).catch((error: unknown) => {
        throw broken(shown, error);
      });
      for await (const taken of this.#channel.items(signal)) {
        const { partition } = taken;
        if ('lost' in taken) {
          yield this.#madeAgain(partition, taken.lost, 0n);
          continue;
        }
        if ('deleted' in taken) {
          yield this.#deleted(partition, taken.deleted, taken.low);
          continue;
        }
        const { message } = taken;
        const at = { [partition]: String(BigInt(message.offset) + 1n) };
        const { key, value } = message;
        if (value === null) {
          yield { at };
          continue;
        }
        const row = await this.#values.row(Number(message.offset), value);
        const place = {
          origin: `${topic}/${partition}`,
          source: topic,
          unique: `${partition}-${message.offset}`,
        };
        const item = arrival(row, place, this.#rules);
        const keyed = 'deadLetter' in item && item.deadLetter.key === '' && key !== null;
        yield keyed
          ? { deadLetter: { ...item.deadLetter, key: key.toString('utf8') }, at }
          : { ...item, at };
      }
    } finally {
      await consumer.disconnect().catch(() => undefined);
      await admin.disconnect().catch(() => undefined);
    }
  }

  /**
   * Where each partition begins. Records that the broker deleted before they were read become a dead letter.
   */
  async *#begin(
    kafka: Kafka,
    from: 'earliest' | 'latest',
  ): AsyncGenerator<ResumableItem<QuestionRow>, void> {
    const { topic, shown } = this.#foreign;
    const ends = await endsOf(kafka, topic, shown);
    const cursors = await Promise.all(
      ends.map(({ partition }) => this.#opening.cursor(String(partition))),
    );
    // A partition added later has no records from before the run.
    const latest = from === 'latest' && cursors.every((cursor) => cursor === null);
    const begins: Record<number, string> = {};
    for (const [i, { partition, low, high }] of ends.entries()) {
      const cursor = cursors[i] ?? null;
      const begin = BigInt(cursor ?? (latest ? high : low));
      this.#next.set(partition, begin);
      if (cursor === null) begins[partition] = String(begin);
    }
    if (cursors.includes(null)) yield { at: begins };
    for (const [i, { partition, low, high }] of ends.entries()) {
      const begin = this.#next.get(partition)!;
      if (cursors[i] === null) continue;
      if (begin > BigInt(high)) {
        this.#next.set(partition, BigInt(low));
        yield this.#madeAgain(partition, begin, BigInt(low));
      } else if (begin < BigInt(low)) {
        this.#next.set(partition, BigInt(low));
        yield this.#deleted(partition, begin, BigInt(low));
      }
    }
  }

  #deleted(partition: number, place: bigint, low: bigint): ResumableItem<QuestionRow> {
    const reason = `the broker deleted the records from here to ${low - 1n} before they were read: increase the topic's retention`;
    return this.#lost(partition, place, low, reason);
  }

  #madeAgain(partition: number, place: bigint, next: bigint): ResumableItem<QuestionRow> {
    const reason =
      'the topic ends before the run’s position: it was deleted and created again; the run reads it from its beginning';
    return this.#lost(partition, place, next, reason);
  }

  /** The dead letter for what cannot be read from `place` on; reading continues at `next`. */
  #lost(
    partition: number,
    place: bigint,
    next: bigint,
    reason: string,
  ): ResumableItem<QuestionRow> {
    const origin = `${this.#foreign.topic}/${partition}`;
    const letter = { origin, place: Number(place), key: '', field: '', reason, payload: '' };
    return { deadLetter: letter, at: { [partition]: String(next) } };
  }

  async #start(consumer: Consumer): Promise<void> {
    const { topic, shown } = this.#foreign;
    consumer.on('consumer.crash', ({ payload: { error, restart } }) => {
      if (!restart) this.#channel.fail(broken(shown, error));
    });
    consumer.on('consumer.group_join', ({ payload: { memberAssignment } }) => {
      for (const partition of memberAssignment[topic] ?? []) {
        consumer.seek({ topic, partition, offset: String(this.#next.get(partition) ?? 0n) });
      }
    });
    await consumer.connect();
    await consumer.subscribe({ topic, fromBeginning: true });
    await consumer.run({
      autoCommit: false,
      eachBatchAutoResolve: false,
      eachBatch: (payload) => this.#batch(payload),
    });
  }

  async #batch({
    batch,
    heartbeat,
    isRunning,
    isStale,
    resolveOffset,
  }: EachBatchPayload): Promise<void> {
    const { partition, messages } = batch;
    const offered = async (taken: Taken): Promise<boolean> => {
      while (!this.#channel.offer(taken)) {
        const answered = new AbortController();
        await Promise.race([
          this.#channel.changed(),
          after(HEARTBEAT_MS, undefined, { signal: answered.signal }).catch(() => undefined),
        ]);
        answered.abort();
        await heartbeat();
        if (!isRunning() || isStale()) return false;
      }
      return true;
    };
    const next = this.#next.get(partition) ?? 0n;
    if (BigInt(batch.highWatermark) < next) {
      if (!(await offered({ partition, lost: next }))) return;
      this.#next.set(partition, 0n);
    }
    const due = this.#next.get(partition) ?? 0n;
    if (messages[0] !== undefined && BigInt(messages[0].offset) > due) {
      const low = await this.#lowOf(partition);
      if (low > due) {
        if (!(await offered({ partition, deleted: due, low }))) return;
        this.#next.set(partition, low);
      }
    }
    for (const message of messages) {
      const offset = BigInt(message.offset);
      // After a rebalance it may begin again where the group's first member did.
      if (offset >= (this.#next.get(partition) ?? 0n)) {
        if (!(await offered({ partition, message }))) return;
        this.#next.set(partition, offset + 1n);
      }
      resolveOffset(message.offset);
    }
    await heartbeat();
  }
}

/** Of each partition. */
async function endsOf(kafka: Kafka, topic: string, shown: string) {
  const admin = kafka.admin();
  try {
    await admin.connect();
    if (!(await admin.listTopics()).includes(topic)) {
      throw new MillraceError(
        'QUESTIONS_FILE',
        `no topic ${topic} at ${shown}: create it, or check its name and whether your login may see it`,
      );
    }
    return await admin.fetchTopicOffsets(topic);
  } catch (error) {
    throw error instanceof MillraceError ? error : broken(shown, error);
  } finally {
    await admin.disconnect().catch(() => undefined);
  }
}

function broken(shown: string, cause: unknown): MillraceError {
  const packing = /^(\w+) compression not implemented/.exec(messageOf(cause))?.[1];
  if (packing !== undefined) {
    return new MillraceError(
      'KAFKA',
      `${shown} has records compressed with ${packing.toLowerCase()}, which Node.js ${process.versions.node} cannot decompress: resume the run with Node.js 22.15 or later, or write the topic with gzip, snappy or lz4`,
      { cause },
    );
  }
  return new MillraceError('KAFKA', `cannot read ${shown}: ${messageOf(cause)}`, { cause });
}

/** What the topic's values are: JSON, or Avro with schemas from a registry. */
class ForeignValues {
  readonly #registry: SchemaRegistry | null;
  readonly #readers = new Map<number, (bytes: Buffer) => unknown>();

  constructor(registry: SchemaRegistry | null) {
    this.#registry = registry;
  }

  /** Fails if the registry cannot be reached. */
  async row(place: number, value: Buffer): Promise<RawRow> {
    const sealed = unseal(value);
    if (sealed === null) return jsonRow(place, value);
    const payload = value.toString('hex', 0, 1000);
    const unreadable = (reason: string): RawRow => ({ kind: 'unreadable', place, reason, payload });
    if (this.#registry === null) {
      return unreadable(
        `the record uses schema ${sealed.id} of a registry; give the registry's URL with ?registry=http://…`,
      );
    }
    let fields: unknown;
    try {
      fields = (await this.#readerOf(sealed.id, this.#registry))(sealed.body);
    } catch (error) {
      if (error instanceof MillraceError && error.code !== 'SCHEMA') throw error;
      return unreadable(`not valid Avro for schema ${sealed.id}: ${messageOf(error)}`);
    }
    if (typeof fields !== 'object' || fields === null) return unreadable('not an Avro record');
    const text = JSON.stringify(fields);
    return { kind: 'fields', place, fields: fields as Record<string, unknown>, payload: text };
  }

  async #readerOf(id: number, registry: SchemaRegistry): Promise<(bytes: Buffer) => unknown> {
    const known = this.#readers.get(id);
    if (known !== undefined) return known;
    const reader = foreignReader(await registry.byId(id));
    if (this.#readers.size >= SCHEMAS_MAX) this.#readers.clear();
    this.#readers.set(id, reader);
    return reader;
  }
}

function jsonRow(place: number, value: Buffer): RawRow {
  try {
    const text = new TextDecoder('utf-8', { fatal: true }).decode(value);
    return parsed(place, text, 'a record must be one JSON object');
  } catch {
    const payload = value.toString('hex', 0, 1000);
    return { kind: 'unreadable', place, reason: 'not UTF-8', payload };
  }
}
