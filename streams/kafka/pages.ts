/**
 * Reading a partition by offset: committed records alone, a page at a time, in no group.
 *
 * Offsets of a partition have gaps: every transaction leaves a mark of its end there, and what it wrote
 * stays behind when it was aborted. A page says where the next one begins, so readers never count.
 */
import { hasCode, MillraceError } from '../../base/errors.ts';
import type { Link } from './link.ts';
import { kindOf } from './problems.ts';
import type { Raw, RawBatch } from './recordBatch.ts';
import { type FetchedPartition, fetchBatches } from './recordRequests.ts';

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
}

export interface PageOptions {
  /** How long the broker may wait for the first record. */
  readonly waitMs: number;
  /** Of a partition; one larger record still comes. */
  readonly bytesMax: number;
}

const SHARED_WAIT_MS = 50;
const READ_COMMITTED = 1;
const READ_UNCOMMITTED = 0;
const LATEST = -1;
const EARLIEST = -2;

/** A page of each partition, from the offset given for it. Waits until one of them has something. */
export async function pages(
  link: Link,
  topic: string,
  from: ReadonlyMap<number, number>,
  options: PageOptions,
): Promise<ReadonlyMap<number, Page>> {
  const groups = await link.byLeader(topic, [...from.keys()]);
  // One answer waits for the other, so none of them may wait long.
  const waitMs = groups.length === 1 ? options.waitMs : Math.min(options.waitMs, SHARED_WAIT_MS);
  const read = groups.map((group) =>
    groupOfPages(link, topic, group, from, { ...options, waitMs }),
  );
  return new Map((await Promise.all(read)).flat());
}

/** In one request; one by one where that is refused (a leader has moved, one offset is out of range). */
async function groupOfPages(
  link: Link,
  topic: string,
  group: readonly number[],
  from: ReadonlyMap<number, number>,
  options: PageOptions,
): Promise<readonly (readonly [number, Page])[]> {
  const { waitMs, bytesMax } = options;
  const single = (partition: number, wait: number): Promise<readonly [number, Page]> =>
    pageOf(link, topic, partition, from.get(partition)!, { ...options, waitMs: wait }).then(
      (page) => [partition, page] as const,
    );
  if (group.length === 1) return [await single(group[0]!, waitMs)];
  try {
    const target = { kind: 'leader', topic, partition: group[0]! } as const;
    const partitions = group.map((partition) => ({ partition, offset: from.get(partition)! }));
    const fetched = await link.ask(
      target,
      (broker) => fetchBatches(broker, { topic, partitions, waitMs, bytesMax }),
      0,
    );
    return fetched.map((answer) => {
      const { partition } = answer;
      return [partition, pageFrom(answer, from.get(partition)!)] as const;
    });
  } catch (error) {
    if (hasCode(error, 'CLOSED')) throw error;
    return Promise.all(group.map((partition) => single(partition, 0)));
  }
}

export async function pageOf(
  link: Link,
  topic: string,
  partition: number,
  offset: number,
  { waitMs, bytesMax }: PageOptions,
): Promise<Page> {
  const answer = await link.ask({ kind: 'leader', topic, partition }, async (broker) => {
    try {
      const partitions = [{ partition, offset }];
      return (await fetchBatches(broker, { topic, partitions, waitMs, bytesMax }))[0];
    } catch (error) {
      if (kindOf(error) === 'OFFSET_OUT_OF_RANGE') return undefined;
      throw error;
    }
  });
  return answer === undefined
    ? outOfRange(link, topic, partition, offset)
    : pageFrom(answer, offset);
}

/** Past the end there is nothing yet; before the beginning there is nothing any more. */
async function outOfRange(
  link: Link,
  topic: string,
  partition: number,
  offset: number,
): Promise<Page> {
  const begin = await offsetAt(link, topic, partition, EARLIEST);
  if (offset < begin) {
    throw new MillraceError(
      'NOT_FOUND',
      `${topic} begins at ${partition}/${begin}: what was at ${offset} has been deleted from the broker`,
      { context: { topic, partition, offset, begin } },
    );
  }
  return { records: [], next: offset, stable: await stableEnd(link, topic, partition) };
}

function pageFrom(fetched: FetchedPartition, from: number): Page {
  const records: Raw[] = [];
  for (const batch of committed(fetched)) {
    for (const record of batch.records) {
      if (record.offset >= from) records.push(record);
    }
  }
  const next = (fetched.batches.at(-1)?.lastOffset ?? -1) + 1;
  return { records, next: Math.max(from, next), stable: fetched.lastStableOffset };
}

/** Without the marks of transactions, and without what was written by those that were aborted. */
function committed({ batches, aborted }: FetchedPartition): readonly RawBatch[] {
  const coming = [...aborted].sort((a, b) => a.firstOffset - b.firstOffset);
  const open = new Set<string>();
  return batches.filter(({ lastOffset, producerId, inTransaction, isControl }) => {
    while (coming.length > 0 && coming[0]!.firstOffset <= lastOffset) {
      open.add(coming.shift()!.producerId);
    }
    if (isControl) {
      open.delete(producerId); // its mark: what follows is of its next transaction
      return false;
    }
    return !(inTransaction && open.has(producerId));
  });
}

/** First offset that a transaction may still be writing: committed readers get no further. */
export function stableEnd(link: Link, topic: string, partition: number): Promise<number> {
  return offsetAt(link, topic, partition, LATEST);
}

/** First offset that nothing has been written to, decided or not. */
export function writtenEnd(link: Link, topic: string, partition: number): Promise<number> {
  return offsetAt(link, topic, partition, LATEST, READ_UNCOMMITTED);
}

export function beginning(link: Link, topic: string, partition: number): Promise<number> {
  return offsetAt(link, topic, partition, EARLIEST);
}

/** First offset whose record is not older than `atMs`; null when there is none. */
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
  return link.ask({ kind: 'leader', topic, partition }, async (broker) => {
    const partitions = [{ partition, timestamp }];
    const { responses } = await broker.listOffsets({
      isolationLevel,
      topics: [{ topic, partitions }],
    });
    return Number(responses[0]!.partitions[0]!.offset);
  });
}
