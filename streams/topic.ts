/**
 * A topic: a name, an Avro contract, a key and a sentence. Data only; logs read and write it.
 */
export interface Topic<T> {
  readonly name: string;
  /** Contract version; raised when the schema changes. */
  readonly version: number;
  /** Who writes it and who reads it. */
  readonly about: string;
  /** A method, so that a `Topic<Rollout>` can stand where a `Topic<unknown>` is asked for. */
  key(value: T): string;
  /** Which questions a record is about: its key is one, or this names them. Absent where it is about none. */
  readonly questions?: QuestionsOf<T>;
  readonly codec: Codec<T>;
}

/** How a topic's records name their questions. */
export type QuestionsOf<T> = 'key' | { bivariant(value: T): readonly string[] }['bivariant'];

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
