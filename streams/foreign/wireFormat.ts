/**
 * Confluent's wire format: a zero byte, the schema's id as a big-endian 32-bit number, then Avro. Ids come
 * from a registry: a topic of the run (`../kafka/logRegistry.ts`) or a server (`httpRegistry.ts`).
 */
export interface SchemaRegistry {
  /**
   * The id of this schema among those of `subject`; registered when it is new. Before that `check` gets
   * the older ones, oldest first, and throws (code `SCHEMA`) when the new one is not compatible with them.
   */
  idOf(
    subject: string,
    schema: unknown,
    check: (older: readonly unknown[]) => void,
  ): Promise<number>;
  /** Fails with code `SCHEMA` if there is no such schema. */
  byId(id: number): Promise<unknown>;
}

const MAGIC = 0;
const HEADER_BYTES = 5;

export function seal(id: number, body: Buffer): Buffer {
  const bytes = Buffer.allocUnsafe(HEADER_BYTES + body.length);
  bytes[0] = MAGIC;
  bytes.writeUInt32BE(id, 1);
  body.copy(bytes, HEADER_BYTES);
  return bytes;
}

/** Null when the bytes are not in the wire format. */
export function unseal(bytes: Buffer): { readonly id: number; readonly body: Buffer } | null {
  const id = schemaIdOf(bytes);
  return id === null ? null : { id, body: bytes.subarray(HEADER_BYTES) };
}

/** Null when the bytes are not in the wire format. */
export function schemaIdOf(bytes: Buffer): number | null {
  return bytes.length < HEADER_BYTES || bytes[0] !== MAGIC ? null : bytes.readUInt32BE(1);
}
