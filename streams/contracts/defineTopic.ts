/**
 * A topic from a shape: the shape is its Avro contract and its type, so neither can say what the other does
 * not.
 */

import type { SubjectsOf, Topic } from '../topic.ts';
import { avroCodec } from './codec.ts';
import type { Shape } from './shapes.ts';

/** What a topic is made of; the rest of `Topic` has defaults. */
export interface TopicSpec<T>
  extends Partial<
    Omit<
      Topic<T>,
      'name' | 'about' | 'key' | 'subjects' | 'codec' | 'added' | 'named' | 'incidental'
    >
  > {
  readonly name: string;
  /** What writes it and what reads it. */
  readonly about: string;
  readonly shape: Shape<T>;
  /** Records of one key keep their order; also what `millrace tap --key` looks for. */
  readonly key: (value: T) => string;
  /**
   * The names of what a record is about, by which it is found like by its key: its key is one, or this gives
   * them.
   */
  readonly subjects?: SubjectsOf<T>;
  readonly added?: readonly (keyof T & string)[];
  readonly incidental?: readonly (keyof T & string)[];
  readonly named?: readonly (keyof T & string)[];
}

/**
 * A topic of version 1 by default.
 *
 *     const note = record('Note', { about: text, stars: whole }); export interface Note extends
 *     ValueOf<typeof note> {} // or: type Note = ValueOf<typeof note> const notes = defineTopic({ name:
 *     'notes', about: 'What readers wrote.', shape: note, key: (value) => value.about });
 */
export function defineTopic<T>({ shape, ...spec }: TopicSpec<T>): Topic<T> {
  return {
    version: 1,
    onePartition: false,
    large: false,
    anyOrder: false,
    identity: spec.key,
    moment: () => 0,
    added: [],
    incidental: [],
    named: [],
    ...spec,
    codec: avroCodec(spec.name, shape),
  };
}
