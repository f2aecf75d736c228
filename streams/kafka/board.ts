/**
 * What the processes of a run report about themselves, in a topic of its own, `<run>._board`, without
 * transactions.
 *
 * Its records are dropped after a while and only the newest are ever read: it is for watching a live run.
 */
import type { KafkaTopics } from './kafkaTopics.ts';
import type { Link } from './link.ts';
import { beginning, pageOf, stableEnd } from './pages.ts';
import { post } from './records.ts';

const TOPIC = '_board';
const PAGE = { waitMs: 0, bytesMax: 2 ** 20 };
/** How many posts to search for the last one of each process. */
const LAST_MAX = 256;

export class Board {
  readonly #link: Link;
  readonly #topics: KafkaTopics;
  readonly #worker: string;

  constructor(link: Link, topics: KafkaTopics, worker: string) {
    this.#link = link;
    this.#topics = topics;
    this.#worker = worker;
  }

  async post(about: unknown, nowMs: number): Promise<void> {
    await this.#topics.ensure(TOPIC, 'board');
    const message = { key: this.#worker, value: about, atMs: nowMs };
    await post(this.#link, this.#topics.nameOf(TOPIC), message);
  }

  async posted(): Promise<readonly unknown[]> {
    if ((await this.#topics.partitions(TOPIC)) === 0) return [];
    const topic = this.#topics.nameOf(TOPIC);
    const end = await stableEnd(this.#link, topic, 0);
    const begin = await beginning(this.#link, topic, 0);
    const last = new Map<string, unknown>();
    for (let next = Math.max(begin, end - LAST_MAX); next < end; ) {
      const page = await pageOf(this.#link, topic, 0, next, PAGE);
      for (const { key, value } of page.records) last.set(key, JSON.parse(value.toString('utf8')));
      next = page.next;
    }
    return [...last.values()];
  }
}
