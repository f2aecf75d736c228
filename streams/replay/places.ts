/**
 * Where the records of a run are, by their identity: an index of ids and offsets, built in one pass over its
 * topics.
 */
import type { Log, Standing } from '../log.ts';
import { recordsOf } from '../recordsOf.ts';
import type { Topic } from '../topic.ts';

/** Called for every record on the way. */
export type Look = (topic: Topic<unknown>, value: unknown, offset: number) => void;

export class Places {
  /** Topic, then identity; two records of one identity are distinguished by their order. */
  readonly #topics = new Map<string, Map<string, number[]>>();
  /** The kinds of records in each topic. */
  readonly #kinds = new Set<string>();

  /** Reads `topics` of `log` up to `standing`. Records that are about time alone are left out. */
  static async of(
    log: Log,
    topics: readonly Topic<unknown>[],
    { ends }: Standing,
    look: Look = () => undefined,
  ): Promise<Places> {
    const places = new Places();
    for (const topic of topics) {
      const end = ends[topic.name] ?? 0;
      for await (const { value, position } of upTo(log, topic, end)) {
        look(topic, value, position.offset);
        if (!topic.isTime?.(value)) places.add(topic, value, position.offset);
      }
    }
    return places;
  }

  add(topic: Topic<unknown>, value: unknown, offset: number): void {
    const places = this.#topics.get(topic.name) ?? new Map<string, number[]>();
    this.#topics.set(topic.name, places);
    const id = topic.identity(value);
    const kind = topic.kindOf?.(value);
    if (kind !== undefined) this.#kinds.add(`${topic.name} ${kind}`);
    const offsets = places.get(id);
    if (offsets === undefined) places.set(id, [offset]);
    else offsets.push(offset);
  }

  /** Whether the run has no record of this kind, because only newer versions write it. */
  isNewKind(topic: Topic<unknown>, value: unknown): boolean {
    const kind = topic.kindOf?.(value);
    return kind !== undefined && !this.#kinds.has(`${topic.name} ${kind}`);
  }

  /** Takes the place of a record; undefined if there is none (left). */
  take(topic: string, id: string): number | undefined {
    const places = this.#topics.get(topic);
    const offsets = places?.get(id);
    const offset = offsets?.shift();
    if (offsets?.length === 0) places?.delete(id);
    return offset;
  }

  /** Takes everything before offset `end`. */
  takeBefore(topic: string, end: number): void {
    const places = this.#topics.get(topic) ?? new Map<string, number[]>();
    for (const [id, offsets] of places) {
      const left = offsets.filter((offset) => offset >= end);
      if (left.length === 0) places.delete(id);
      else places.set(id, left);
    }
  }

  /** What was not taken, topic by topic, in the order of offsets. */
  *left(): Generator<{ readonly topic: string; readonly id: string; readonly offset: number }> {
    for (const [topic, places] of this.#topics) {
      const left = [...places].flatMap(([id, offsets]) =>
        offsets.map((offset) => ({ topic, id, offset })),
      );
      yield* left.sort((a, b) => a.offset - b.offset);
    }
  }
}

/** The records of a topic before offset `end`. */
export async function* upTo<T>(
  log: Log,
  topic: Topic<T>,
  end: number,
): AsyncGenerator<{ readonly value: T; readonly position: { readonly offset: number } }> {
  if (end === 0) return;
  for await (const stored of recordsOf(log, topic, { from: { kind: 'earliest' } })) {
    if (stored.position.offset >= end) return;
    yield stored;
    if (stored.position.offset === end - 1) return;
  }
}
