/**
 * Schemas by number, as the wire format names them. A topic's schema is registered before its first record is
 * written, and one that could not read the older ones is refused.
 */
import { hasCode, MillraceError, messageOf } from '../../base/index.ts';
import { type SchemaRegistry, schemaIdOf, unseal } from '../foreign/wireFormat.ts';
import type { Codec, Topic } from '../topic.ts';
import type { Raw } from './pages.ts';
import { headerOf } from './records.ts';

const UNKNOWN_MAX = 1024;

/** Bytes of a record as the run counts them: key and Avro. */
export function countedBytes({ key, value }: Raw): number {
  return Buffer.byteLength(key) + (unseal(value)?.body ?? value).length;
}

/** The schemas that this process has seen so far, backed by a registry. */
export class Schemas {
  readonly #registry: SchemaRegistry;
  readonly #ids = new WeakMap<Codec<unknown>, Promise<number>>();
  readonly #schemas = new Map<number, unknown>();
  /** Why an id has no schema. None can appear later: a schema is registered before it is used. */
  readonly #unknown = new Map<number, MillraceError>();

  constructor(registry: SchemaRegistry) {
    this.#registry = registry;
  }

  idOf(topic: Topic<unknown>): Promise<number> {
    const known = this.#ids.get(topic.codec);
    if (known !== undefined) return known;
    const { codec, name } = topic;
    const id = this.#registry.idOf(`${name}-value`, codec.schema, (older) => {
      for (const schema of older) codec.reading(schema);
    });
    this.#ids.set(codec, id);
    id.catch(() => this.#ids.delete(codec)); // refused now may be right after another start
    return id;
  }

  /**
   * Looks up every schema that these records name, so that `decode` has them or knows that they are missing.
   */
  async prepare(records: readonly Raw[]): Promise<void> {
    const ids = new Set<number | null>();
    for (const { value } of records) ids.add(schemaIdOf(value));
    for (const id of ids) {
      if (id === null || this.#schemas.has(id) || this.#unknown.has(id)) continue;
      try {
        this.#schemas.set(id, await this.#registry.byId(id));
      } catch (error) {
        if (!hasCode(error, 'SCHEMA')) throw error;
        if (this.#unknown.size >= UNKNOWN_MAX) this.#unknown.clear();
        this.#unknown.set(id, error);
      }
    }
  }

  /**
   * Decodes a prepared record. Fails with `DECODE` if the record is at fault (not in the wire format, of an
   * unknown schema, not written by this contract, or cut short), and with `SCHEMA` if this version cannot
   * read the contract that it was written by.
   */
  decode<T>(topic: Topic<T>, record: Raw): T {
    const sealed = unseal(record.value);
    if (sealed === null) {
      throw foreign(topic, record, 'is not in the wire format (0, schema id, Avro)');
    }
    const schema = this.#schemas.get(sealed.id);
    if (schema === undefined) {
      const why = this.#unknown.get(sealed.id);
      throw foreign(topic, record, `names the unknown schema ${sealed.id}`, why);
    }
    return this.#decoder(topic, record, schema)(sealed.body);
  }

  #decoder<T>(topic: Topic<T>, record: Raw, schema: unknown): (bytes: Buffer) => T {
    try {
      return topic.codec.reading(schema);
    } catch (error) {
      if (contractOf(record).startsWith(`${topic.name}/`)) throw error;
      throw foreign(topic, record, 'does not follow the contract of this topic', error);
    }
  }
}

/** `orders/2`; '' where its writer did not say. */
function contractOf(record: Raw): string {
  return headerOf(record, 'contract');
}

function foreign(
  topic: Topic<unknown>,
  { partition, offset }: Raw,
  what: string,
  cause?: unknown,
): MillraceError {
  const why = cause === undefined ? '' : ` (${messageOf(cause)})`;
  return new MillraceError(
    'DECODE',
    `${topic.name}@${partition}/${offset} ${what}${why}; something else has written to this topic`,
    { context: { topic: topic.name, partition, offset }, cause },
  );
}
