/**
 * A topic: a name, an Avro contract, a key and a sentence. Data only; logs read and write it.
 */
export interface Topic<T> {
  readonly name: string;
  /** Contract version; raised when the schema changes. */
  readonly version: number;
  /** Who writes it and who reads it. */
  readonly about: string;
  readonly key: (value: T) => string;
  readonly codec: Codec<T>;
}

/** Values to bytes and back. `decode` names topic and field in its error (code `DECODE`). */
export interface Codec<T> {
  /** The writer's schema, as JSON. */
  readonly schema: unknown;
  encode(value: T): Buffer;
  decode(bytes: Buffer): T;
}
