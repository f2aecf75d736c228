/**
 * A topic from a shape: the shape is its Avro contract and its type, so neither can say what the other does not.
 */

import type { QuestionsOf, Topic } from '../topic.ts';
import { avroCodec } from './codec.ts';
import type { Shape } from './shapes.ts';

/**
 * A topic of version 1 by default.
 *
 *     const note = record('Note', { about: text, stars: whole });
 *     export interface Note extends ValueOf<typeof note> {} // or: type Note = ValueOf<typeof note>
 *     const notes = defineTopic({ name: 'notes', about: 'What readers wrote.', shape: note, key: (value) => value.about });
 */
export function defineTopic<T>(spec: {
  readonly name: string;
  /** Who writes it and who reads it. */
  readonly about: string;
  readonly shape: Shape<T>;
  /** Records of one key keep their order; also what `millrace tap --key` looks for. */
  readonly key: (value: T) => string;
  /** Which questions a record is about (what `millrace tap --question` looks for): its key is one, or this names them. */
  readonly questions?: QuestionsOf<T>;
  /** Raised when the shape changes. */
  readonly version?: number;
}): Topic<T> {
  const { name, about, key, questions, version = 1 } = spec;
  const codec = avroCodec(name, spec.shape);
  return { name, about, key, version, codec, ...(questions === undefined ? {} : { questions }) };
}
