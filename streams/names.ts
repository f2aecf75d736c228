/** By which names a record is found without reading its topic: its key, and the questions that it is about. */
import type { Only } from './log.ts';
import type { Topic } from './topic.ts';

/** The names of a record, each once. */
export function namesOf<T>(topic: Topic<T>, value: T): readonly string[] {
  const { questions } = topic;
  const key = topic.key(value);
  if (questions === undefined || questions === 'key') return [key];
  return [...new Set([key, ...questions(value)])];
}

/** Those that are asked for. */
export function namesIn(only: Only): readonly string[] {
  return 'keys' in only ? only.keys : only.questions;
}

/** Whether the key of a record says all: it need not be decoded to know whether it is asked for. */
export function keyTells(topic: Topic<unknown>, only: Only): boolean {
  return 'keys' in only || topic.questions === undefined || topic.questions === 'key';
}

/** Whether a record is one of those asked for. */
export function belongs<T>(topic: Topic<T>, only: Only): (key: string, value: T) => boolean {
  const names = new Set(namesIn(only));
  if ('keys' in only) return (key) => names.has(key);
  const { questions } = topic;
  if (questions === undefined) return () => false;
  if (questions === 'key') return (key) => names.has(key);
  return (_, value) => questions(value).some((question) => names.has(question));
}
