/** The names by which a record is found without reading its topic: its key, and its subjects. */
import type { Only } from './log.ts';
import type { Topic } from './topic.ts';

/** The names of a record, each once. */
export function namesOf<T>(topic: Topic<T>, value: T): readonly string[] {
  const { subjects } = topic;
  const key = topic.key(value);
  if (subjects === undefined || subjects === 'key') return [key];
  return [...new Set([key, ...subjects(value)])];
}

/** Those that are wanted. */
export function namesIn(only: Only): readonly string[] {
  return 'keys' in only ? only.keys : only.subjects;
}

/** Whether the key of a record alone says if it is wanted, without decoding it. */
export function keyTells(topic: Topic<unknown>, only: Only): boolean {
  return 'keys' in only || topic.subjects === undefined || topic.subjects === 'key';
}

/** Whether a record is one of those wanted. */
export function belongs<T>(topic: Topic<T>, only: Only): (key: string, value: T) => boolean {
  const names = new Set(namesIn(only));
  if ('keys' in only) return (key) => names.has(key);
  const { subjects } = topic;
  if (subjects === undefined) return () => false;
  if (subjects === 'key') return (key) => names.has(key);
  return (_, value) => subjects(value).some((subject) => names.has(subject));
}
