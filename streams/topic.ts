/**
 * A topic: a name, an Avro contract, a key, and what its records mean when two runs are compared. Data only;
 * logs read and write it. Made by `defineTopic`.
 */
import type { Position } from './position.ts';

/** Durable records of one shape. */
export interface Topic<T> {
  readonly name: string;
  /** Contract version; raised when the schema changes. */
  readonly version: number;
  /** What writes it and what reads it. */
  readonly about: string;
  /** A method, so that a `Topic<Order>` is assignable to a `Topic<unknown>`. */
  key(value: T): string;
  /** The names of what a record is about: its key is one, or this gives them. Absent if there are none. */
  readonly subjects?: SubjectsOf<T>;
  readonly codec: Codec<T>;
  /** Its records are read as one sequence: on Kafka it has one partition. */
  readonly onePartition: boolean;
  /** Its records are many or big: retention may move the oldest to an archive. */
  readonly large: boolean;
  /** Several stages write it and nothing refers to it, so the order of its records says nothing. */
  readonly anyOrder: boolean;
  /** Which record it is: unique in a run, and the same in another run of the same input. */
  identity(value: T): string;
  /** Orders records of all topics by when in a run's life they were made; -1 = before any work. */
  moment(value: T): number;
  /** Other records that it points at. */
  references?(value: T): readonly Reference[];
  /**
   * A newer version of the software may write kinds of records that an older one did not; those are not
   * compared.
   */
  kindOf?(value: T): string;
  /** Whether a record is about time alone, so that nothing in it can be compared. */
  isTime?(value: T): boolean;
  /**
   * A record as it would have been made when `recorded` was, if that one is older and has less within its
   * fields.
   */
  asThen?(made: T, recorded: T): T;
  /** Fields that records of an older contract lack: they read as null, which means unknown. */
  readonly added: readonly string[];
  /**
   * Fields that say how long something took or which way it went, not what it produced; they are not
   * compared.
   */
  readonly incidental: readonly string[];
  /** Fields that may hold a name made up by a service (`scheme://…`), which cannot be compared. */
  readonly named: readonly string[];
}

/** How a topic's records name their subjects. */
export type SubjectsOf<T> = 'key' | { bivariant(value: T): readonly string[] }['bivariant'];

/** A field of a record that says where another record is. */
export interface Reference {
  /** Path of the field, e.g. `groups.3.scored`. */
  readonly field: string;
  readonly topic: Topic<unknown>;
  readonly position: Position;
}

/** Values to bytes and back. `decode` names topic and field in its error (code `DECODE`). */
export interface Codec<T> {
  /** The writer's schema, as JSON. */
  readonly schema: unknown;
  /** Fails with code `ENCODE`, naming topic and field, when the value does not keep the contract. */
  encode(value: T): Buffer;
  decode(bytes: Buffer): T;
  /**
   * A decoder for records that were written with another schema. Fails with code `SCHEMA` and a
   * sentence saying why when this codec cannot read them. Resolution is done once per schema.
   */
  reading(writer: unknown): (bytes: Buffer) => T;
}
