/**
 * A topic that is known by its name alone: each record is read by the schema that it was written with.
 *
 * For looking at topics that a job defines itself. Nothing can be written to it, and a log that does not keep
 * keys with records cannot give any.
 */

import { MillraceError } from '../../base/index.ts';
import type { Codec, Topic } from '../topic.ts';
import { avroCodec } from './codec.ts';

export function anyTopic(name: string): Topic<unknown> {
  const readers = new WeakMap<object, Codec<unknown>['decode']>();
  const refuse = (): never => {
    throw new MillraceError(
      'SCHEMA',
      `${name}: the job defines this topic's contract; use the job's topic`,
      { context: { topic: name } },
    );
  };
  const reading = (writer: unknown): Codec<unknown>['decode'] => {
    const schema = Object(writer) as object; // a log gives the same object for the same schema
    const known = readers.get(schema) ?? avroCodec(name, { render: () => writer }).decode;
    readers.set(schema, known);
    return known;
  };
  const codec = { schema: null, encode: refuse, decode: refuse, reading };
  return {
    name,
    version: 0,
    about: 'Defined by the job.',
    key: () => '',
    codec,
    onePartition: false,
    large: false,
    anyOrder: false,
    identity: () => '',
    moment: () => 0,
    added: [],
    incidental: [],
    named: [],
  };
}
