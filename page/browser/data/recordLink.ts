/** The address of a record of a topic, by its ref: `812`, or `2-812` for partition 2. */
import { linkAt } from './place.ts';

export function recordLink(run: string, topic: string, ref: string): string {
  const [partition, offset] = ref.includes('-') ? ref.split('-') : [undefined, ref];
  return linkAt(
    { page: 'topics', run, id: topic },
    partition === undefined ? { offset: offset! } : { partition, offset: offset! },
  );
}
