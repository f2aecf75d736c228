/**
 * Codecs: Avro bytes for a topic's values, and schema resolution for records of an older contract.
 *
 * Unknown bytes become types here and nowhere else. What does not fit fails with the topic and the field in
 * the message: `ENCODE` on the way in, `DECODE` on the way out, `SCHEMA` when two contracts cannot meet. The
 * search for the field runs only after a failure. Bytes are walked over before they are decoded, so that no
 * record, however damaged, takes more time or memory than its size allows.
 */

import avro from 'avsc';
import { MillraceError, messageOf } from '../../base/index.ts';
import { counted } from '../../base/text/index.ts';
import type { Codec } from '../topic.ts';
import { fieldOutside, walkerOf } from './avroBounds.ts';
import { breaches } from './contract.ts';
import { packedLogicalTypes } from './packed.ts';
import { type Shape, schemaOf } from './shapes.ts';

function typeOf(schema: unknown): avro.Type {
  return avro.Type.forSchema(schema as avro.Schema, {
    logicalTypes: packedLogicalTypes,
    omitRecordMethods: true,
    wrapUnions: 'auto',
    registry: {},
  });
}

/** The first field of a record at which its bytes stop making sense; '' when it is after the last. */
function brokenField(schema: unknown, bytes: Buffer): string {
  const outside = fieldOutside(schema, bytes);
  if (outside !== null) return outside;
  for (const { name, upTo } of fieldsOf(schema)) {
    try {
      if (upTo.decode(bytes, 0).offset < 0) return name;
    } catch {
      return name;
    }
  }
  return '';
}

/** A field, and the record up to and with it as a type. */
interface FieldType {
  readonly name: string;
  readonly upTo: avro.Type;
}

/** By schema: building types takes much longer than using them. */
const fieldTypes = new WeakMap<object, readonly FieldType[]>();

function fieldsOf(schema: unknown): readonly FieldType[] {
  const { fields = [] } = schema as { readonly fields?: readonly { readonly name: string }[] };
  const known = fieldTypes.get(schema as object);
  if (known !== undefined) return known;
  const types = fields.map(({ name }, index) => ({
    name,
    upTo: typeOf({ ...(schema as object), fields: fields.slice(0, index + 1) }),
  }));
  fieldTypes.set(schema as object, types);
  return types;
}

function decodeError(topic: string, schema: unknown, bytes: Buffer, cause: unknown): MillraceError {
  const field = brokenField(schema, bytes);
  const where = field === '' ? 'after its last field' : `in field ${field}`;
  return new MillraceError(
    'DECODE',
    `${topic}: a record of ${counted(bytes.length, 'byte')} does not decode ${where}: ${messageOf(cause)}`,
    { context: { topic, field, bytes: bytes.length }, cause },
  );
}

function schemaError(topic: string, why: readonly string[], cause?: unknown): MillraceError {
  return new MillraceError(
    'SCHEMA',
    `${topic}: this version cannot read records of the older contract: ${why.join('; ')}`,
    { context: { topic }, cause },
  );
}

/** Empty if either is not a schema. */
function reasons(writer: unknown, reader: unknown): readonly string[] {
  try {
    return breaches(writer, reader);
  } catch {
    return [];
  }
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
  return new MillraceError('ENCODE', `${topic}: the value does not fit the contract: ${what}`, {
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

/** A codec for values of this shape. `topic` is the name that its errors have. */
export function avroCodec<T>(topic: string, shape: Shape<T>): Codec<T> {
  const schema = schemaOf(shape);
  const type = typeOf(schema);
  const own = JSON.stringify(schema);
  const readers = new Map<string, (bytes: Buffer) => T>();
  /** Cached by object identity, because a log asks for every record. */
  const readersMet = new WeakMap<object, (bytes: Buffer) => T>();

  const decoder = (writer: unknown, decode: (bytes: Buffer) => unknown) => {
    const walker = walkerOf(writer);
    return (bytes: Buffer) => {
      try {
        walker({ bytes, at: 0 });
        return decode(bytes) as T; // the schema was built from a Shape<T>
      } catch (cause) {
        throw decodeError(topic, writer, bytes, cause);
      }
    };
  };
  const resolved = (writer: unknown): ((bytes: Buffer) => T) => {
    const why = reasons(writer, schema);
    if (why.length > 0) throw schemaError(topic, why);
    try {
      const resolver = type.createResolver(typeOf(writer));
      return decoder(writer, (bytes) => type.fromBuffer(bytes, resolver));
    } catch (cause) {
      throw schemaError(topic, [messageOf(cause)], cause);
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
      const met = readersMet.get(writer as object);
      if (met !== undefined) return met;
      const text = JSON.stringify(writer);
      const known = text === own ? decode : (readers.get(text) ?? resolved(writer));
      readers.set(text, known);
      if (typeof writer === 'object' && writer !== null) readersMet.set(writer, known);
      return known;
    },
  };
}
