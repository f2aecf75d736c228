/**
 * Records as the log writes and reads them, over the batches of @platformatic/kafka: plain numbers instead of
 * 64-bit objects.
 */
import {
  type CreateRecordsBatchOptions,
  IS_CONTROL,
  IS_TRANSACTIONAL,
  type MessageRecord,
  produceV9,
  type RecordsBatch,
} from '@platformatic/kafka';
import type { Link } from './link.ts';
import { kindOf } from './problems.ts';

/** In the library's form; many share their headers. */
export type Message = Required<MessageRecord>;

/** A record as received, its value undecoded. */
export interface Raw {
  readonly partition: number;
  readonly offset: number;
  readonly atMs: number;
  readonly key: string;
  /** Empty if there is no key. */
  readonly value: Buffer;
  readonly headers: readonly (readonly [name: Buffer | null, value: Buffer | null])[];
  /** The producer; the records of a commit have one. */
  readonly producerId: bigint;
}

/** Records for one partition. */
export interface Writes {
  /** The broker's name. */
  readonly topic: string;
  readonly partition: number;
  readonly messages: Message[];
}

/** The producer id of clients that are neither idempotent nor transactional. */
export const NO_PRODUCER = -1n;

const NO_BYTES: Buffer = Buffer.alloc(0);
const NO_HEADERS: Map<Buffer, Buffer> = new Map();
const LOG_APPEND_TIME = 0x08;
const ALL_REPLICAS = -1;
const PRODUCE_MS = 30_000;
/** How much longer the broker may take than the wait that was requested. */
const NETWORK_MS = 5_000;

/** Writes one batch. The offset of its first record; -1 if the broker already had it and does not say. */
export async function produce(
  link: Link,
  { topic, partition, messages }: Writes,
  options: Partial<CreateRecordsBatchOptions>,
): Promise<number> {
  try {
    const answer = await link.ask(
      { kind: 'leader', topic, partition },
      produceV9.api,
      [ALL_REPLICAS, PRODUCE_MS, messages, options],
      { answerMs: PRODUCE_MS + NETWORK_MS },
    );
    const [first] = (answer as produceV9.ProduceResponse).responses;
    return Number(first?.partitionResponses[0]?.baseOffset ?? -1);
  } catch (error) {
    if (kindOf(error) === 'DUPLICATE_SEQUENCE_NUMBER') return -1;
    throw error;
  }
}

/** A message that belongs to no transaction; it may come twice when its answer is lost. */
export async function post(
  link: Link,
  topic: string,
  { key, value, atMs }: { readonly key: string; readonly value: unknown; readonly atMs: number },
): Promise<void> {
  await produce(
    link,
    { topic, partition: 0, messages: [jsonMessage(topic, key, value, atMs)] },
    {},
  );
}

/** In the only partition of its topic. */
export function jsonMessage(topic: string, key: string, value: unknown, atMs: number): Message {
  return {
    topic,
    partition: 0,
    key: Buffer.from(key),
    value: Buffer.from(JSON.stringify(value)),
    headers: NO_HEADERS,
    timestamp: BigInt(atMs),
  };
}

/** An aborted transaction, and the offset of its first record. */
export interface Aborted {
  readonly producerId: bigint;
  readonly firstOffset: bigint;
}

/** The records from `from` on, without the marks of transactions and the records of aborted ones. */
export function committedRecords(
  batches: readonly RecordsBatch[],
  aborted: readonly Aborted[],
  partition: number,
  from: number,
): Raw[] {
  const coming = [...aborted].sort((a, b) => Number(a.firstOffset - b.firstOffset));
  const open = new Set<bigint>();
  const records: Raw[] = [];
  for (const batch of batches) {
    const { producerId, attributes } = batch;
    const last = lastOffsetOf(batch);
    for (let [next] = coming; next !== undefined && next.firstOffset <= last; [next] = coming) {
      open.add(next.producerId);
      coming.shift();
    }
    if ((attributes & IS_CONTROL) !== 0) {
      open.delete(producerId); // its mark: what follows is of its next transaction
    } else if ((attributes & IS_TRANSACTIONAL) === 0 || !open.has(producerId)) {
      for (const record of rawOf(batch, partition)) if (record.offset >= from) records.push(record);
    }
  }
  return records;
}

export function lastOffsetOf({ firstOffset, lastOffsetDelta }: RecordsBatch): number {
  return Number(firstOffset) + lastOffsetDelta;
}

function rawOf(batch: RecordsBatch, partition: number): Raw[] {
  const { attributes, producerId } = batch;
  const first = Number(batch.firstOffset);
  const firstMs = Number(batch.firstTimestamp);
  const brokersMs = (attributes & LOG_APPEND_TIME) === 0 ? null : Number(batch.maxTimestamp);
  return batch.records.map(({ offsetDelta, timestampDelta, key, value, headers }) => ({
    partition,
    offset: first + offsetDelta,
    atMs: brokersMs ?? firstMs + Number(timestampDelta),
    key: key?.toString('utf8') ?? '',
    value: value ?? NO_BYTES,
    headers,
    producerId,
  }));
}

/** Of several headers by one name the last; '' if there is none. */
export function headerOf({ headers }: Pick<Raw, 'headers'>, name: string): string {
  const found = headers.findLast(([of]) => of?.toString('utf8') === name);
  return found?.[1]?.toString('utf8') ?? '';
}
