/** The committed records of a partition, those of each producer in order. */
import { MillraceError } from '../../base/index.ts';
import type { RecordPages } from './archive/recordPages.ts';
import type { KafkaTopics } from './kafkaTopics.ts';
import { type Link, pause } from './link.ts';
import { type Raw, writtenEnd } from './pages.ts';
import { NO_PRODUCER } from './records.ts';

const LOOK_AGAIN_MS = 5;
const PAGE = { waitMs: 0, bytesMax: 4 * 2 ** 20 };

export interface CommittedRecordsParts {
  readonly link: Link;
  readonly topics: KafkaTopics;
  readonly pages: RecordPages;
}

export class CommittedRecords {
  readonly #parts: CommittedRecordsParts;
  readonly #topic: string;
  readonly #partition: number;
  /** Read and not yet taken: about as much as is written at once. */
  readonly #waiting = new Map<bigint, Raw[]>();
  #next = 0;

  constructor(parts: CommittedRecordsParts, topic: string, partition: number) {
    this.#parts = parts;
    this.#topic = topic;
    this.#partition = partition;
  }

  /** The next record of this producer, which is known to have committed it. */
  async take(producerId: bigint): Promise<Raw> {
    for (;;) {
      const found = this.#waiting.get(producerId)?.shift();
      if (found !== undefined) return found;
      await this.#readOn();
    }
  }

  async #readOn(): Promise<void> {
    const { link, pages } = this.#parts;
    const page = await pages.page(link, this.#topic, this.#partition, this.#next, PAGE);
    for (const raw of page.records) {
      if (raw.producerId === NO_PRODUCER) continue; // another client's
      const list = this.#waiting.get(raw.producerId) ?? [];
      this.#waiting.set(raw.producerId, list);
      list.push(raw);
    }
    if (page.next === this.#next) await this.#wait();
    this.#next = page.next;
  }

  /**
   * The mark of its commit may not have reached this partition yet, or an earlier transaction may be open.
   */
  async #wait(): Promise<void> {
    const { link, topics } = this.#parts;
    const end = await writtenEnd(link, topics.nameOf(this.#topic), this.#partition);
    if (this.#next < end) return pause(LOOK_AGAIN_MS, new AbortController().signal);
    const place = `${this.#topic}@${this.#partition}/${this.#next}`;
    throw new MillraceError(
      'DAMAGED',
      `${place} is missing: records that were committed are no longer on the broker`,
      { context: { place } },
    );
  }
}
