/**
 * Reading a partition by offset: only committed records, a page at a time, in no group.
 *
 * Offsets of a partition have gaps: every transaction leaves a mark of its end there, and what it wrote
 * remains when it was undone. A page says where the next one begins, so readers never count.
 */
import { createAPI, fetchV12, listOffsetsV5, Reader } from '@platformatic/kafka';
import { hasCode, MillraceError } from '../../base/index.ts';
import type { Link } from './link.ts';
import { kindOf } from './problems.ts';
import { committedRecords, lastOffsetOf, type Raw } from './records.ts';

export type { Raw };

/** Bytes of key and value. */
export function sizeOf({ key, value }: Raw): number {
  return Buffer.byteLength(key) + value.length;
}

export interface Page {
  readonly records: readonly Raw[];
  /** Where the next page begins. */
  readonly next: number;
  /** First offset that is not yet known to be committed. */
  readonly stable: number;
  /** The page begins after everything ever written; absent if it does not. */
  readonly beyond?: boolean;
}

export interface PageOptions {
  /** How long the broker may wait for the first record. */
  readonly waitMs: number;
  /** Of a partition; one larger record still comes. */
  readonly bytesMax: number;
}

const SHARED_WAIT_MS = 50;
/** How much longer the broker may take than the wait that was requested. */
const NETWORK_MS = 5_000;
const CONSUMER = -1;
const UNKNOWN_EPOCH = -1;
const NO_SESSION = { id: 0, epoch: -1 };
const ONE_BYTE = 1;
const READ_COMMITTED = 1;
const READ_UNCOMMITTED = 0;
const LATEST = -1;
const EARLIEST = -2;

/** The library searches all pieces of an answer for every number; in one piece it finds it at once. */
const fetch = createAPI<Parameters<typeof fetchV12.createRequest>, fetchV12.FetchResponse>(
  fetchV12.api.key,
  fetchV12.api.version,
  fetchV12.createRequest,
  (id, key, version, reader) => {
    return fetchV12.parseResponse(id, key, version, Reader.from(reader.buffer.buffer));
  },
);

/** A page of each partition from the given offset. Waits until one of them has records. */
export async function pages(
  link: Link,
  topic: string,
  from: ReadonlyMap<number, number>,
  options: PageOptions,
): Promise<ReadonlyMap<number, Page>> {
  const groups = await link.byLeader(topic, [...from.keys()]);
  // One answer waits for the other, so none may wait long.
  const waitMs = groups.length === 1 ? options.waitMs : Math.min(options.waitMs, SHARED_WAIT_MS);
  const read = groups.map((group) => {
    const places = new Map(group.map((partition) => [partition, from.get(partition)!]));
    return pagesOfOne(link, topic, places, { ...options, waitMs });
  });
  return new Map((await Promise.all(read)).flatMap((group) => [...group]));
}

/**
 * Partitions of one leader, in one request; one by one if it is refused (a leader has moved, an offset is out
 * of range).
 */
async function pagesOfOne(
  link: Link,
  topic: string,
  from: ReadonlyMap<number, number>,
  options: PageOptions,
): Promise<ReadonlyMap<number, Page>> {
  const [[partition = 0] = []] = from;
  if (from.size === 1) {
    return new Map([
      [partition, await pageOf(link, topic, partition, from.get(partition)!, options)],
    ]);
  }
  try {
    return await fetched(link, topic, from, options, { patienceMs: 0 });
  } catch (error) {
    if (hasCode(error, 'CLOSED')) throw error;
    const single = [...from].map(async ([each, offset]) => {
      return [each, await pageOf(link, topic, each, offset, { ...options, waitMs: 0 })] as const;
    });
    return new Map(await Promise.all(single));
  }
}

export async function pageOf(
  link: Link,
  topic: string,
  partition: number,
  offset: number,
  options: PageOptions,
): Promise<Page> {
  try {
    const read = await fetched(link, topic, new Map([[partition, offset]]), options, {});
    return read.get(partition)!;
  } catch (error) {
    if (kindOf(error) !== 'OFFSET_OUT_OF_RANGE') throw error;
    return outOfRange(link, topic, partition, offset);
  }
}

async function fetched(
  link: Link,
  topic: string,
  from: ReadonlyMap<number, number>,
  { waitMs, bytesMax }: PageOptions,
  limits: { readonly patienceMs?: number },
): Promise<ReadonlyMap<number, Page>> {
  const partitions = [...from].map(([partition, offset]) => ({
    partition,
    fetchOffset: BigInt(offset),
    currentLeaderEpoch: UNKNOWN_EPOCH,
    lastFetchedEpoch: UNKNOWN_EPOCH,
    partitionMaxBytes: bytesMax,
  }));
  const { responses } = await link.ask(
    { kind: 'leader', topic, partition: partitions[0]!.partition },
    fetch,
    [
      waitMs,
      ONE_BYTE,
      bytesMax * from.size,
      READ_COMMITTED,
      NO_SESSION.id,
      NO_SESSION.epoch,
      [{ topicId: topic, partitions }],
      [],
      '',
    ],
    { ...limits, answerMs: waitMs + NETWORK_MS },
  );
  const answers = responses.flatMap((answer) => answer.partitions);
  return new Map(
    answers.map(({ partitionIndex, records, abortedTransactions, lastStableOffset }) => {
      const begin = from.get(partitionIndex)!;
      const batches = records ?? [];
      const last = batches.at(-1);
      const next = last === undefined ? begin : Math.max(begin, lastOffsetOf(last) + 1);
      const page = committedRecords(batches, abortedTransactions ?? [], partitionIndex, begin);
      return [partitionIndex, { records: page, next, stable: Number(lastStableOffset) }];
    }),
  );
}

/** Past the end there is nothing yet; before the beginning there is nothing any more. */
async function outOfRange(
  link: Link,
  topic: string,
  partition: number,
  offset: number,
): Promise<Page> {
  const begin = await beginning(link, topic, partition);
  if (offset < begin) {
    throw new MillraceError(
      'NOT_FOUND',
      `${topic} begins at ${partition}/${begin}: the record at ${offset} was deleted from the broker`,
      { context: { topic, partition, offset, begin } },
    );
  }
  const beyond = offset > (await writtenEnd(link, topic, partition));
  return { records: [], next: offset, stable: await stableEnd(link, topic, partition), beyond };
}

/** The first offset that a transaction may still be writing: readers of committed records stop there. */
export function stableEnd(link: Link, topic: string, partition: number): Promise<number> {
  return offsetAt(link, topic, partition, LATEST);
}

/** The first offset never written to, committed or not. */
export function writtenEnd(link: Link, topic: string, partition: number): Promise<number> {
  return offsetAt(link, topic, partition, LATEST, READ_UNCOMMITTED);
}

export function beginning(link: Link, topic: string, partition: number): Promise<number> {
  return offsetAt(link, topic, partition, EARLIEST);
}

/** The first offset whose record is not older than `atMs`; null if there is none. */
export async function offsetAtTime(
  link: Link,
  topic: string,
  partition: number,
  atMs: number,
): Promise<number | null> {
  const offset = await offsetAt(link, topic, partition, Math.max(0, Math.ceil(atMs)));
  return offset < 0 ? null : offset;
}

async function offsetAt(
  link: Link,
  topic: string,
  partition: number,
  timestamp: number,
  isolationLevel = READ_COMMITTED,
): Promise<number> {
  const wanted = {
    partitionIndex: partition,
    currentLeaderEpoch: UNKNOWN_EPOCH,
    timestamp: BigInt(timestamp),
  };
  const { topics } = await link.ask({ kind: 'leader', topic, partition }, listOffsetsV5.api, [
    CONSUMER,
    isolationLevel,
    [{ name: topic, partitions: [wanted] }],
  ]);
  return Number(topics[0]!.partitions[0]!.offset);
}
