/** The topics of a run by name: our own, and those that its job defines. */
import { MillraceError } from '../../../base/index.ts';
import { anyTopic } from '../../../streams/contracts/index.ts';
import type { Log, Topic } from '../../../streams/index.ts';
import { allTopics, runTopic } from '../../../topics/index.ts';

/** Fails with code `NO_TOPIC`, naming those that exist. */
export async function topicNamed(log: Log, name: string): Promise<Topic<unknown>> {
  const known = runTopic(name);
  if (known !== undefined) return known;
  const there = (await log.stats()).map(({ topic }) => topic);
  if (there.includes(name)) return anyTopic(name);
  const names = [...new Set([...allTopics.map((topic) => topic.name), ...there])];
  throw new MillraceError(
    'NO_TOPIC',
    `there is no topic ${JSON.stringify(name.slice(0, 100))}; the topics are ${names.join(', ')}`,
  );
}

/** What the key of a topic is, in a word. */
export function keyOf(topic: string): string {
  return runTopic(topic)?.keyName ?? 'key';
}
