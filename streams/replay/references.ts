/** Records with something else in place of what they refer to. */
import type { Position } from '../position.ts';
import type { Topic } from '../topic.ts';

/** A copy with `instead` in place of each reference; the record itself if it has none. */
export function withReferences<T>(
  topic: Topic<T>,
  value: T,
  instead: (topic: string, position: Position) => unknown,
): T {
  const references = topic.references?.(value) ?? [];
  if (references.length === 0) return value;
  const copy = structuredClone(value);
  for (const { field, topic: to, position } of references) {
    const path = field.split('.');
    const holder = path
      .slice(0, -1)
      .reduce((inner, part) => inner[part] as Holder, copy as unknown as Holder);
    holder[path.at(-1)!] = instead(to.name, position);
  }
  return copy;
}

type Holder = Record<string, unknown>;
