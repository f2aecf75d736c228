/** A topic of a run: what the streams engine needs of it, and how people see its records. */
import { defineTopic, type TopicSpec } from '../streams/contracts/index.ts';
import type { Topic } from '../streams/index.ts';
import type { RowLink } from './links.ts';

/** How people see the records of a topic. */
export interface Shown<T> {
  /** What its key is, e.g. `question id`. */
  readonly keyName: string;
  /** A record as a line of text. */
  line(value: T): string;
  /** Pages about what the record names; `ref` is its own position (no links by default). */
  links(value: T, ref: string): readonly RowLink[];
}

/** A topic with how people see it. */
export interface RunTopic<T> extends Topic<T>, Shown<T> {
  /**
   * Its records come from outside the flow (commands, agents) or cut it in time, so a replay takes them as
   * recorded; false by default.
   */
  readonly given: boolean;
}

/** Like `defineTopic`, plus how people see it. */
export function defineRunTopic<T>(
  spec: TopicSpec<T> & Omit<Shown<T>, 'links'> & Partial<Pick<RunTopic<T>, 'links' | 'given'>>,
): RunTopic<T> {
  const { keyName, line, links = () => [], given = false } = spec;
  return { ...defineTopic(spec), keyName, line, links, given };
}
