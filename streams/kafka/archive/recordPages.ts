/**
 * Pages of a run's records, wherever they are: those that the run has archived come from its segments, the
 * others from the broker.
 *
 * What the broker no longer has is looked for in the archive once more, after every transaction that may
 * mention it is decided: another process may have archived it meanwhile. So only what someone else has
 * deleted is missing.
 */
import { hasCode } from '../../../base/index.ts';
import { HELD_MAX, readSegment, segmentAt } from '../../archive/segments.ts';
import type { KafkaTopics } from '../kafkaTopics.ts';
import type { Link } from '../link.ts';
import {
  beginning,
  offsetAtTime,
  type Page,
  type PageOptions,
  pageOf,
  pages,
  type Raw,
} from '../pages.ts';
import type { StateTopic } from '../stateTopic.ts';
import type { KafkaSegment } from './archived.ts';
import { unpacked } from './record.ts';

export class RecordPages {
  readonly #topics: KafkaTopics;
  readonly #state: StateTopic;
  readonly #folder: string;
  /** By file; the one used last is the last. */
  readonly #held = new Map<string, Promise<readonly Raw[]>>();

  /** `folder`: what the names of near segments are relative to. */
  constructor(topics: KafkaTopics, state: StateTopic, folder: string) {
    this.#topics = topics;
    this.#state = state;
    this.#folder = folder;
  }

  /** As `pageOf` of a topic by our name. Fails with `ARCHIVED` if a segment cannot be read. */
  async page(
    link: Link,
    topic: string,
    partition: number,
    offset: number,
    options: PageOptions,
  ): Promise<Page> {
    const archived = await this.#archived(topic, partition, offset);
    if (archived !== null) return archived;
    try {
      return await pageOf(link, this.#topics.nameOf(topic), partition, offset, options);
    } catch (error) {
      if (!hasCode(error, 'NOT_FOUND')) throw error;
      await this.#state.settled();
      const meanwhile = await this.#archived(topic, partition, offset);
      if (meanwhile === null) throw error;
      return meanwhile;
    }
  }

  /** A page of each partition, from the offset given for it. Waits until one of them has something. */
  async pages(
    link: Link,
    topic: string,
    from: ReadonlyMap<number, number>,
    options: PageOptions,
  ): Promise<ReadonlyMap<number, Page>> {
    const { archived } = this.#state;
    if ([...from].every(([partition, offset]) => offset >= archived.end(topic, partition))) {
      try {
        return await pages(link, this.#topics.nameOf(topic), from, options);
      } catch (error) {
        if (!hasCode(error, 'NOT_FOUND')) throw error;
      }
    }
    const single = [...from].map(async ([partition, offset]) => {
      const page = await this.page(link, topic, partition, offset, { ...options, waitMs: 0 });
      return [partition, page] as const;
    });
    return new Map(await Promise.all(single));
  }

  /** The first offset that can be read. */
  async beginning(link: Link, topic: string, partition: number): Promise<number> {
    const begin = await beginning(link, this.#topics.nameOf(topic), partition);
    if (begin === 0) return 0;
    const { archived } = this.#state;
    if (archived.end(topic, partition) < begin) await this.#state.settled();
    return archived.end(topic, partition) < begin ? begin : 0;
  }

  /** The first offset that is not archived, as far as is known. */
  kept(topic: string, partition: number): number {
    return this.#state.archived.end(topic, partition);
  }

  /** An offset before which every record is older than `atMs`; null if all are. */
  async offsetAtTime(
    link: Link,
    topic: string,
    partition: number,
    atMs: number,
  ): Promise<number | null> {
    await this.beginning(link, topic, partition); // what is archived is known from here on
    const segments = this.#state.archived.segments(topic, partition);
    const first = segments.find(({ newestMs }) => newestMs >= atMs);
    return first?.from ?? offsetAtTime(link, this.#topics.nameOf(topic), partition, atMs);
  }

  /** The rest of the segment that has this offset. */
  async #archived(topic: string, partition: number, offset: number): Promise<Page | null> {
    const segment = segmentAt(this.#state.archived.segments(topic, partition), offset);
    if (segment === undefined) return null;
    const records = await this.#records(topic, partition, segment);
    return {
      records: records.filter((record) => record.offset >= offset),
      next: segment.to,
      stable: segment.to,
    };
  }

  async #records(topic: string, partition: number, segment: KafkaSegment): Promise<readonly Raw[]> {
    const { file, records } = segment;
    const held =
      this.#held.get(file) ??
      readSegment(this.#folder, `${topic}@${partition}`, segment, records).then((sealed) =>
        sealed.map((bytes) => unpacked(bytes, partition)),
      );
    this.#held.delete(file);
    this.#held.set(file, held);
    const [oldest] = this.#held.keys();
    if (this.#held.size > HELD_MAX) this.#held.delete(oldest!);
    try {
      return await held;
    } catch (error) {
      this.#held.delete(file); // it may be put back
      throw error;
    }
  }
}
