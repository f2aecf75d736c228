/**
 * Codecs: Avro bytes for a topic's values, and schema resolution for records of an older contract.
 *
 * Unknown bytes become types here and nowhere else. What does not fit fails with the topic and the
 * field in the message: `ENCODE` on the way in, `DECODE` on the way out, `SCHEMA` when two contracts
 * cannot meet. The search for the field runs only after a failure.
 */
import avro from 'avsc';
import { MillraceError, messageOf } from './errors.ts';
import { packedLogicalTypes } from './packed.ts';
import { type Shape, schemaOf } from './shapes.ts';
import type { Codec } from './topic.ts';

function typeOf(schema: unknown): avro.Type {
  return avro.Type.forSchema(schema as avro.Schema, {
    logicalTypes: packedLogicalTypes,
    omitRecordMethods: true,
    wrapUnions: 'auto',
    registry: {},
  });
}

interface RecordSchema {
  readonly fields: readonly { readonly name: string }[];
}

/** The first field of a record at which these bytes stop making sense; '' when it is behind the last. */
function brokenField(schema: unknown, bytes: Buffer): string {
  const fields = (schema as Partial<RecordSchema>).fields ?? [];
  for (const [index, field] of fields.entries()) {
    const upTo = typeOf({ ...(schema as object), fields: fields.slice(0, index + 1) });
    try {
      if (upTo.decode(bytes, 0).offset < 0) return field.name;
    } catch {
      return field.name;
    }
  }
  return '';
}

function decodeError(topic: string, schema: unknown, bytes: Buffer, cause: unknown): MillraceError {
  const field = brokenField(schema, bytes);
  const where = field === '' ? 'after its last field' : `in field ${field}`;
  return new MillraceError(
    'DECODE',
    `${topic}: a record of ${bytes.length} bytes does not decode ${where}: ${messageOf(cause)}`,
    { context: { topic, field, bytes: bytes.length }, cause },
  );
}

function encodeError(
  topic: string,
  type: avro.Type,
  value: unknown,
  cause: unknown,
): MillraceError {
  const problems: string[] = [];
  const paths: string[] = [];
  type.isValid(value, {
    errorHook(path, found, wanted) {
      paths.push(path.join('.'));
      problems.push(`${path.join('.')} is ${show(found)}, not ${wanted.typeName}`);
    },
  });
  const field = paths[0] ?? '';
  const what = problems.length > 0 ? problems.slice(0, 3).join('; ') : messageOf(cause);
  return new MillraceError('ENCODE', `${topic}: the value does not keep the contract: ${what}`, {
    context: { topic, field },
    cause,
  });
}

function show(value: unknown): string {
  if (value === undefined) return 'missing';
  const json =
    typeof value === 'object' && value !== null ? value.constructor.name : JSON.stringify(value);
  return json.length > 60 ? `${json.slice(0, 60)}…` : json;
}

/** A codec for values of this shape. `topic` is the name that its errors carry. */
export function avroCodec<T>(topic: string, shape: Shape<T>): Codec<T> {
  const schema = schemaOf(shape as Shape<unknown>);
  const type = typeOf(schema);
  const own = JSON.stringify(schema);
  const readers = new Map<string, (bytes: Buffer) => T>();

  const decoder = (writer: unknown, decode: (bytes: Buffer) => unknown) => (bytes: Buffer) => {
    try {
      return decode(bytes) as T; // the schema was built from a Shape<T>
    } catch (cause) {
      throw decodeError(topic, writer, bytes, cause);
    }
  };
  const resolved = (writer: unknown): ((bytes: Buffer) => T) => {
    try {
      const resolver = type.createResolver(typeOf(writer));
      return decoder(writer, (bytes) => type.fromBuffer(bytes, resolver));
    } catch (cause) {
      throw new MillraceError(
        'SCHEMA',
        `${topic}: this version cannot read records of the older contract: ${messageOf(cause)}; ` +
          'give added fields a default, and give a field whose type changed a new name',
        { context: { topic }, cause },
      );
    }
  };
  const decode = decoder(schema, (bytes) => type.fromBuffer(bytes));

  return {
    schema,
    encode(value) {
      try {
        return type.toBuffer(value);
      } catch (cause) {
        throw encodeError(topic, type, value, cause);
      }
    },
    decode,
    reading(writer) {
      const text = JSON.stringify(writer);
      if (text === own) return decode;
      const known = readers.get(text) ?? resolved(writer);
      readers.set(text, known);
      return known;
    },
  };
}
