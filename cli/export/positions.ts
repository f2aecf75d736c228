/** Where the records of a topic are, by a key; only positions are held. */
import type { Log, Position, Topic } from '../../streams/index.ts';

export async function positions<T>(
  log: Log,
  topic: Topic<T>,
  key: (value: T) => string,
): Promise<ReadonlyMap<string, readonly Position[]>> {
  const found = new Map<string, Position[]>();
  if (!(await log.stats()).some((one) => one.topic === topic.name)) return found;
  await log
    .tap(topic, { from: { kind: 'earliest' }, follow: false })
    .forEach(({ position, value }) => {
      const known = found.get(key(value));
      if (known === undefined) found.set(key(value), [position]);
      else known.push(position);
    });
  return found;
}
