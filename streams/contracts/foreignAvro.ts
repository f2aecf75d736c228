/**
 * Avro that others write: a value by the schema that its writer registered, as plain JavaScript.
 *
 * As with our own records, bytes are walked over before they are decoded, so that no record takes more time
 * or memory than its size allows.
 */
import avro from 'avsc';
import { walkerOf } from './avroBounds.ts';

/**
 * Reads values of this schema. Throws if it is not an Avro schema; the reader throws on bytes that do not
 * fit.
 */
export function foreignReader(schema: unknown): (bytes: Buffer) => unknown {
  const type = avro.Type.forSchema(schema as avro.Schema, {
    omitRecordMethods: true,
    wrapUnions: 'auto',
    registry: {},
  });
  const walker = walkerOf(schema);
  return (bytes) => {
    walker({ bytes, at: 0 });
    return type.fromBuffer(bytes);
  };
}
