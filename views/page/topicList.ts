/** The topics of a run by their names: those of ours, and those that its job defines itself. */
import { MillraceError } from '../../base/errors.ts';
import { anyTopic } from '../../streams/contracts/anyTopic.ts';
import type { Log } from '../../streams/log.ts';
import type { Topic } from '../../streams/topic.ts';
import { topics } from '../../streams/topics.ts';

const ours: readonly Topic<unknown>[] = Object.values(
  topics,
) as unknown as readonly Topic<unknown>[];

/** Fails with code `NO_TOPIC`, naming those that there are. */
export async function topicNamed(log: Log, name: string): Promise<Topic<unknown>> {
  const known = ours.find((topic) => topic.name === name);
  if (known !== undefined) return known;
  const there = (await log.stats()).map(({ topic }) => topic);
  if (there.includes(name)) return anyTopic(name);
  const names = [...new Set([...ours.map((topic) => topic.name), ...there])];
  throw new MillraceError(
    'NO_TOPIC',
    `there is no topic ${JSON.stringify(name.slice(0, 100))}; there are ${names.join(', ')}`,
  );
}

const keys: Readonly<Record<string, string>> = {
  [topics.toolCalls.name]: 'rollout id',
  [topics.batches.name]: 'step',
  [topics.weights.name]: 'version',
  [topics.metrics.name]: 'name',
  [topics.deadLetters.name]: 'key of the record',
};

/** What the key of a topic is, in a word. */
export function keyOf(topic: string): string {
  return keys[topic] ?? (ours.some(({ name }) => name === topic) ? 'question id' : 'key');
}
