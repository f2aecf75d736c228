/** Replaces the references in records. */
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
  const copy = { ...value };
  /** A copy that we may write to: only what leads to a reference is copied. */
  const own = new Set<unknown>();
  for (const { field, topic: to, position } of references) {
    const path = field.split('.');
    let holder = copy as unknown as Holder;
    for (const part of path.slice(0, -1)) {
      if (!own.has(holder[part])) holder[part] = copyOf(holder[part]);
      own.add(holder[part]);
      holder = holder[part] as Holder;
    }
    holder[path.at(-1)!] = instead(to.name, position);
  }
  return copy;
}

const copyOf = (value: unknown): unknown =>
  Array.isArray(value) ? [...value] : { ...(value as Holder) };

type Holder = Record<string, unknown>;
