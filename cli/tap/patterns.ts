/**
 * Which topics a tap is of: names and patterns (`*`, `?`), each with or without the run before it, all of one run.
 */
import { MillraceError } from '../../streams/errors.ts';
import type { Topic } from '../../streams/topic.ts';
import { topics } from '../../streams/topics.ts';
import { usageError } from '../failure.ts';
import { runAndTopic, topicNamed, topicNames } from '../topicNamed.ts';

const all = Object.values(topics) as unknown as readonly Topic<unknown>[];

export interface Tapped {
  /** Undefined = the newest. */
  readonly run: string | undefined;
  /** In the order in which a run works. */
  readonly topics: readonly Topic<unknown>[];
}

/** Fails with code `USAGE` (more than one run) or `NO_TOPIC` (nothing has this name). */
export function tapped(patterns: readonly string[], run: string | undefined): Tapped {
  const named = patterns.map(runAndTopic);
  const runs = new Set(
    [run, ...named.map((each) => each.run)].filter((name) => name !== undefined),
  );
  if (runs.size > 1) {
    throw usageError(`a tap is of one run, and these are ${runs.size}: ${[...runs].join(', ')}`);
  }
  const wanted = new Set(named.flatMap(({ topic }) => matching(topic)));
  return { run: [...runs][0], topics: all.filter((topic) => wanted.has(topic)) };
}

function matching(pattern: string): readonly Topic<unknown>[] {
  if (!/[*?]/.test(pattern)) return [topicNamed(pattern)];
  const source = pattern
    .replace(/[.+^${}()|[\]\\]/g, '\\$&')
    .replaceAll('*', '.*')
    .replaceAll('?', '.');
  const found = all.filter(({ name }) => new RegExp(`^${source}$`).test(name));
  if (found.length > 0) return found;
  throw new MillraceError(
    'NO_TOPIC',
    `no topic is like "${pattern}". There are: ${topicNames.join(', ')}`,
  );
}
