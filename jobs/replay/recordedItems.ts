/** The records of a topic, up to where a run had come, as the items of a source. */
import type { Log, Standing, Topic } from '../../streams/index.ts';
import { upTo } from '../../streams/replay/index.ts';

/** Iterable any number of times, as a source must be. */
export function recordedItems<T>(
  log: Log,
  topic: Topic<T>,
  { ends }: Standing,
): AsyncIterable<{ readonly value: T }> {
  return {
    async *[Symbol.asyncIterator]() {
      for await (const { value } of upTo(log, topic, ends[topic.name] ?? 0)) yield { value };
    },
  };
}
