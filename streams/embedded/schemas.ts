/**
 * Which schema each record was written with: a list per topic, whose number a record has.
 *
 * A topic's current schema joins the list before its first record does. One that could not read the
 * older ones is refused there, before anything is written.
 */
import { MillraceError } from '../../base/index.ts';
import type { Codec, Topic } from '../topic.ts';
import type { LogStore } from './store.ts';

export class Schemas {
  readonly #store: LogStore;
  /** What is on disk, and what a pending commit will add. */
  readonly #lists = new Map<string, readonly unknown[]>();
  /** Numbers already found. */
  readonly #numbers = new WeakMap<Codec<unknown>, number>();

  constructor(store: LogStore) {
    this.#store = store;
  }

  /** The number of the topic's current schema, and the longer list when it is a new one. */
  numberOf(topic: Topic<unknown>): {
    readonly number: number;
    readonly added?: readonly unknown[];
  } {
    const known = this.#numbers.get(topic.codec);
    if (known !== undefined) return { number: known };
    const list = this.#list(topic.name);
    const own = JSON.stringify(topic.codec.schema);
    const number = list.findIndex((schema) => JSON.stringify(schema) === own);
    if (number >= 0) {
      this.#numbers.set(topic.codec, number);
      return { number };
    }
    for (const older of list) topic.codec.reading(older);
    return { number: list.length, added: [...list, topic.codec.schema] };
  }

  committed(topic: string, list: readonly unknown[]): void {
    this.#lists.set(topic, list);
  }

  /** Fails with code `SCHEMA` when this version cannot read what was written. */
  decoder<T>(topic: Topic<T>, number: number): (bytes: Buffer) => T {
    let schema = this.#list(topic.name)[number];
    if (schema === undefined) {
      this.#lists.delete(topic.name); // another process may have added it
      schema = this.#list(topic.name)[number];
    }
    if (schema === undefined) {
      throw new MillraceError(
        'SCHEMA',
        `${topic.name}: schema ${number} is missing; the log is damaged`,
      );
    }
    return topic.codec.reading(schema);
  }

  #list(topic: string): readonly unknown[] {
    const known = this.#lists.get(topic) ?? this.#store.schemas(topic);
    this.#lists.set(topic, known);
    return known;
  }
}
