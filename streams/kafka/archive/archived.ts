/**
 * The archived part of a run on Kafka: entries of its state topic, one per segment, each written in a
 * transaction before the broker is asked to delete the segment's records.
 *
 * An entry stays true, so none is ever replaced. For a partition, the chain of segments counts that each
 * begin where the one before ends, from offset 0 on; if two processes have archived the same stretch, either
 * will do.
 */
import type { Segment } from '../../archive/segments.ts';

/** Keys of the state topic that these entries begin with. */
export const ARCHIVE = 'archive/';

/** A segment of a partition. Offsets have gaps, so it says how many records it holds. */
export interface KafkaSegment extends Required<Segment> {
  readonly records: number;
  /** Of keys and values, as the log counts them. */
  readonly bytes: number;
  /** The times of its records are between these. */
  readonly oldestMs: number;
  readonly newestMs: number;
}

export const archiveKey = (
  topic: string,
  partition: number,
  { from, to }: Pick<KafkaSegment, 'from' | 'to'>,
): string => `${ARCHIVE}${topic}/${partition}/${from}-${to}`;

/** Everything, as far as the state topic was read. */
export class Archived {
  /** By topic and partition: the segment at each offset where one begins. */
  readonly #places = new Map<string, Map<number, KafkaSegment>>();
  /** The chains computed so far, until something is added. */
  readonly #chains = new Map<string, readonly KafkaSegment[]>();

  /** An entry of the state topic. */
  add(key: string, segment: KafkaSegment): void {
    const place = key.slice(ARCHIVE.length, key.lastIndexOf('/'));
    const segments = this.#places.get(place) ?? new Map<number, KafkaSegment>();
    const known = segments.get(segment.from);
    if (known === undefined || known.to < segment.to) segments.set(segment.from, segment);
    this.#places.set(place, segments);
    this.#chains.delete(place);
  }

  /** The segments of a partition, oldest first and without gaps. */
  segments(topic: string, partition: number): readonly KafkaSegment[] {
    const place = `${topic}/${partition}`;
    const known = this.#chains.get(place);
    if (known !== undefined) return known;
    const segments = this.#places.get(place) ?? new Map<number, KafkaSegment>();
    const chain: KafkaSegment[] = [];
    for (let next = segments.get(0); next !== undefined; next = segments.get(next.to)) {
      chain.push(next);
    }
    this.#chains.set(place, chain);
    return chain;
  }

  /** The first offset of the partition that is not archived. */
  end(topic: string, partition: number): number {
    return this.segments(topic, partition).at(-1)?.to ?? 0;
  }

  /** How much of the topic is archived, over all its partitions. */
  count(topic: string): { readonly records: number; readonly bytes: number } {
    let [records, bytes] = [0, 0];
    for (const place of this.#places.keys()) {
      const [of, partition] = place.split('/');
      if (of !== topic) continue;
      for (const segment of this.segments(topic, Number(partition))) {
        records += segment.records;
        bytes += segment.bytes;
      }
    }
    return { records, bytes };
  }
}
