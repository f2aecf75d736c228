/** A topic by its name on the command line: `rollouts`, or `<run>.rollouts`. */
import { MillraceError } from '../streams/errors.ts';
import type { Topic } from '../streams/topic.ts';
import { topics } from '../streams/topics.ts';
import { nearest } from './nearest.ts';

const all = Object.values(topics) as unknown as readonly Topic<unknown>[];

/** The names of all topics. */
export const topicNames: readonly string[] = all.map((topic) => topic.name);

/** Fails with code `NO_TOPIC`, naming those that there are. */
export function topicNamed(name: string): Topic<unknown> {
  const topic = all.find((candidate) => candidate.name === name);
  if (topic !== undefined) return topic;
  const meant = nearest(name, topicNames);
  const hint = meant === null ? '' : ` Did you mean ${meant}?`;
  throw new MillraceError(
    'NO_TOPIC',
    `no topic "${name}".${hint} There are: ${topicNames.join(', ')}`,
  );
}

/** Splits `<run>.<topic>`; a name without a dot is a topic. */
export function runAndTopic(name: string): { run: string | undefined; topic: string } {
  const dot = name.indexOf('.');
  if (dot < 0) return { run: undefined, topic: name };
  return { run: name.slice(0, dot), topic: name.slice(dot + 1) };
}
