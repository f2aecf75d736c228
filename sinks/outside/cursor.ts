/**
 * How far an outside reader has come in a topic, and what follows.
 *
 * One offset per partition says it exactly. Reading starts at the time of the newest record, which every log
 * finds fast; records already read are skipped. Clocks of processes that share a run may differ by less than
 * `CLOCKS_APART_MS`.
 */
import { type Log, recordsOf, type Stored, type Topic } from '../../streams/index.ts';

export interface Cursor {
  /** First unread offset, by partition. */
  readonly next: Readonly<Record<string, number>>;
  /** When the newest record read so far was appended; 0 = none. */
  readonly atMs: number;
}

export const BEGINNING: Cursor = { next: {}, atMs: 0 };

const CLOCKS_APART_MS = 600_000;

/** The cursor after these records. */
export function advanced(
  cursor: Cursor,
  records: readonly Pick<Stored<unknown>, 'position' | 'atMs'>[],
): Cursor {
  const next = { ...cursor.next };
  let { atMs } = cursor;
  for (const { position, atMs: appendedMs } of records) {
    next[position.partition] = Math.max(next[position.partition] ?? 0, position.offset + 1);
    atMs = Math.max(atMs, appendedMs);
  }
  return { next, atMs };
}

/** The cursor in a stored text; the beginning if the text is not one. */
export function parseCursor(text: string): Cursor {
  try {
    const { next, atMs } = JSON.parse(text) as Cursor;
    if (typeof next === 'object' && next !== null && typeof atMs === 'number')
      return { next, atMs };
  } catch {
    // Not written yet, or damaged.
  }
  return BEGINNING;
}

/**
 * Records after the cursor, except unreadable ones. With `followUntil` it waits for more until that aborts.
 */
export async function* unread<T>(
  log: Log,
  topic: Topic<T>,
  { next, atMs }: Cursor,
  followUntil?: AbortSignal,
): AsyncGenerator<Stored<T>, void, undefined> {
  const options = {
    from: { kind: 'time', atMs: Math.max(0, atMs - CLOCKS_APART_MS) },
    unreadable: () => undefined,
    ...(followUntil === undefined ? {} : { followUntil }),
  } as const;
  for await (const stored of recordsOf(log, topic, options)) {
    const { partition, offset } = stored.position;
    if (offset >= (next[partition] ?? 0)) yield stored;
  }
}
