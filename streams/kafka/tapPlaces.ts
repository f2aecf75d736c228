/** Where a tap on a Kafka topic begins and ends: the offset of a place in each partition. */
import type { From } from '../log.ts';
import type { RecordPages } from './archive/recordPages.ts';
import type { KafkaTopics } from './kafkaTopics.ts';
import { type Link, pause } from './link.ts';
import { type Page, type Raw, stableEnd, writtenEnd } from './pages.ts';

export interface PlacesParts {
  readonly link: Link;
  readonly topics: KafkaTopics;
  readonly pages: RecordPages;
  /**
   * First offset after what this process has written: it can be read, though its mark may not have come yet.
   */
  readonly writtenEnd: (topic: string, partition: number) => number;
}

type Offsets = ReadonlyMap<number, number>;

const PAGE = { waitMs: 0, bytesMax: 2 ** 20 };
export const LOOK_AGAIN_MS = 10;

export class TapPlaces {
  readonly #parts: PlacesParts;
  readonly #topic: string;
  readonly #stopping: AbortSignal;

  constructor(topic: string, parts: PlacesParts, stopping: AbortSignal) {
    this.#parts = parts;
    this.#topic = topic;
    this.#stopping = stopping;
  }

  /** By partition, the offset of a place. */
  offsets(partitions: readonly number[], place: From): Promise<Offsets> {
    return place.kind === 'last'
      ? this.#last(partitions, place.count)
      : inEach(partitions, (partition) => this.#offset(partition, place));
  }

  async #offset(partition: number, place: Exclude<From, { kind: 'last' }>): Promise<number> {
    const { link, pages } = this.#parts;
    switch (place.kind) {
      case 'earliest':
        return pages.beginning(link, this.#topic, partition);
      case 'latest':
        return this.readableEnd(partition);
      case 'offset':
        return Math.max(0, place.offset);
      case 'time': {
        const offset = await pages.offsetAtTime(link, this.#topic, partition, place.atMs);
        return offset ?? this.readableEnd(partition);
      }
    }
  }

  /** The end of what can be read, and of what this process has written. */
  async readableEnd(partition: number): Promise<number> {
    const { link, topics, writtenEnd: ownEnd } = this.#parts;
    const name = topics.nameOf(this.#topic);
    return Math.max(await stableEnd(link, name, partition), ownEnd(name, partition));
  }

  /**
   * The end of what has been written, decided or not: a process that was killed may have left a transaction
   * open, which hides other processes' committed records after it until the broker aborts it.
   */
  writtenEnd(partition: number): Promise<number> {
    return writtenEnd(this.#parts.link, this.#parts.topics.nameOf(this.#topic), partition);
  }

  /** A page that is empty only if there is nothing more to read now. */
  async page(partition: number, next: number): Promise<Page> {
    const { link, pages } = this.#parts;
    const page = await pages.page(link, this.#topic, partition, next, PAGE);
    if (page.next === next) await pause(LOOK_AGAIN_MS, this.#stopping);
    return page;
  }

  /** The last records of all partitions together. */
  async #last(partitions: readonly number[], count: number): Promise<Offsets> {
    // Ends first: records that arrive while the last ones are looked for come after the beginning in every
    // partition.
    const ends = await inEach(partitions, (each) => this.readableEnd(each));
    const found = await inEach(partitions, (each) => this.#lastIn(each, count, ends.get(each)!));
    const newest = [...found.values()]
      .flat()
      .sort((a, b) => b.atMs - a.atMs || b.offset - a.offset);
    const starts = new Map(ends);
    for (const { partition, offset } of newest.slice(0, count)) {
      starts.set(partition, Math.min(starts.get(partition)!, offset));
    }
    return starts;
  }

  /** Offsets have gaps, so the last records are looked for in ever longer stretches before the end. */
  async #lastIn(
    partition: number,
    count: number,
    end: number,
  ): Promise<readonly Omit<Raw, 'value'>[]> {
    const { link, pages } = this.#parts;
    const begin = await pages.beginning(link, this.#topic, partition);
    const kept = pages.kept(this.#topic, partition);
    let start = end;
    for (let stretch = 2 * count + 16; ; stretch *= 4) {
      const wider = Math.max(begin, end - stretch);
      // Reads the archive only if the rest does not suffice.
      start = wider < kept && start > kept ? kept : wider;
      const last: Omit<Raw, 'value'>[] = [];
      for (let next = start; next < end; ) {
        const page = await this.page(partition, next);
        for (const { value: _value, ...record } of page.records) {
          if (record.offset < end) last.push(record);
          if (last.length > count) last.shift();
        }
        next = page.next;
      }
      if (last.length >= count || start === begin) return last;
    }
  }
}

/** The result of `find` for each partition. */
async function inEach<T>(
  partitions: readonly number[],
  find: (partition: number) => Promise<T>,
): Promise<ReadonlyMap<number, T>> {
  const found = partitions.map(async (each) => [each, await find(each)] as const);
  return new Map(await Promise.all(found));
}
