/**
 * The registry that needs no server: a topic of the run, in which a schema's id is its place.
 *
 * A process that needs a missing schema appends it and reads on until it finds it. When two processes append
 * the same one at once, the first place counts for both. The topic is never compacted.
 */
import { MillraceError } from '../../base/index.ts';
import type { SchemaRegistry } from '../foreign/wireFormat.ts';
import type { KafkaTopics } from './kafkaTopics.ts';
import type { Link } from './link.ts';
import { pageOf, stableEnd } from './pages.ts';
import { post } from './records.ts';

export const SCHEMAS_TOPIC = '_schemas';
const PAGE = { waitMs: 0, bytesMax: 4 * 2 ** 20 };

interface Entry {
  readonly subject: string;
  /** As JSON text. */
  readonly schema: string;
}

export class LogRegistry implements SchemaRegistry {
  readonly #link: Link;
  readonly #topics: KafkaTopics;
  /** Distinct, in the order of the log: the first has id 1. */
  readonly #entries: Entry[] = [];
  #next = 0;
  /** One reads or appends at a time. */
  #turn: Promise<unknown> = Promise.resolve();

  constructor(link: Link, topics: KafkaTopics) {
    this.#link = link;
    this.#topics = topics;
  }

  idOf(
    subject: string,
    schema: unknown,
    check: (older: readonly unknown[]) => void,
  ): Promise<number> {
    const entry = { subject, schema: JSON.stringify(schema) };
    return this.#inTurn(async () => {
      await this.#topics.ensure(SCHEMAS_TOPIC, 'schemas');
      await this.#readOn();
      if (this.#placeOf(entry) < 0) {
        const older = this.#entries.filter((known) => known.subject === subject);
        check(older.map((known) => JSON.parse(known.schema) as unknown));
        // A schema has a place but no time.
        const message = { key: subject, value: entry, atMs: 1 };
        await post(this.#link, this.#topics.nameOf(SCHEMAS_TOPIC), message);
        await this.#readOn();
      }
      return this.#placeOf(entry) + 1;
    });
  }

  byId(id: number): Promise<unknown> {
    return this.#inTurn(async () => {
      if (id > this.#entries.length) await this.#readOn();
      const entry = this.#entries[id - 1];
      if (entry !== undefined) return JSON.parse(entry.schema) as unknown;
      throw new MillraceError(
        'SCHEMA',
        `schema ${id} is not in ${this.#topics.nameOf(SCHEMAS_TOPIC)}; another registry wrote these records`,
        { context: { id } },
      );
    });
  }

  #inTurn<T>(work: () => Promise<T>): Promise<T> {
    const done = this.#turn.then(work);
    this.#turn = done.catch(() => undefined);
    return done;
  }

  #placeOf({ subject, schema }: Entry): number {
    return this.#entries.findIndex((known) => known.subject === subject && known.schema === schema);
  }

  async #readOn(): Promise<void> {
    if ((await this.#topics.partitions(SCHEMAS_TOPIC)) === 0) return;
    const topic = this.#topics.nameOf(SCHEMAS_TOPIC);
    const end = await stableEnd(this.#link, topic, 0);
    while (this.#next < end) {
      const { records, next } = await pageOf(this.#link, topic, 0, this.#next, PAGE);
      for (const { value } of records) {
        const entry = JSON.parse(value.toString('utf8')) as Entry;
        if (this.#placeOf(entry) < 0) this.#entries.push(entry);
      }
      this.#next = next;
    }
  }
}
