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

/** The names to match. */
export function namesIn(only: Only): readonly string[] {
  return 'keys' in only ? only.keys : only.subjects;
}

/** Whether a record's key alone decides, without decoding the record. */
export function keyTells(topic: Topic<unknown>, only: Only): boolean {
  return 'keys' in only || topic.subjects === undefined || topic.subjects === 'key';
}

/** Whether a record matches. */
export function belongs<T>(topic: Topic<T>, only: Only): (key: string, value: T) => boolean {
  const names = new Set(namesIn(only));
  if ('keys' in only) return (key) => names.has(key);
  const { subjects } = topic;
  if (subjects === undefined) return () => false;
  if (subjects === 'key') return (key) => names.has(key);
  return (_, value) => subjects(value).some((subject) => names.has(subject));
}
