/** Reads records by position: only the parts of a partition that hold them, neighbours in one page. */
import { MillraceError } from '../../base/index.ts';
import { thousands } from '../../base/text/index.ts';
import type { Stored } from '../log.ts';
import { noPartition, noRecord } from '../logErrors.ts';
import type { Position } from '../position.ts';
import type { Topic } from '../topic.ts';
import { pause } from './link.ts';
import { type Raw, sizeOf, stableEnd } from './pages.ts';
import type { Schemas } from './registry.ts';
import type { PlacesParts } from './tapPlaces.ts';

export interface FetchParts extends PlacesParts {
  readonly schemas: Schemas;
  /** Aborted when the log closes. */
  readonly closing: AbortSignal;
}

const PAGE = { waitMs: 0, bytesMax: 2 ** 19 };
const LOOK_AGAIN_MS = 5;

const at = ({ partition, offset }: Position): string => `${partition}/${offset}`;

/** In the requested order. Fails with `NOT_FOUND`, naming the first that is missing. */
export async function fetchPositions<T>(
  topic: Topic<T>,
  positions: readonly Position[],
  parts: FetchParts,
): Promise<readonly Stored<T>[]> {
  const count = await parts.topics.partitions(topic.name);
  const wanted = new Map<number, number[]>();
  for (const { partition, offset } of positions) {
    if (!Number.isInteger(offset) || offset < 0 || partition < 0 || partition >= count) continue;
    wanted.set(partition, [...(wanted.get(partition) ?? []), offset]);
  }
  const found = new Map<string, Raw>();
  const ends = new Map<number, number>();
  for (const [partition, offsets] of wanted) {
    const { link, topics, writtenEnd } = parts;
    const name = topics.nameOf(topic.name);
    const end = Math.max(await stableEnd(link, name, partition), writtenEnd(name, partition));
    ends.set(partition, end);
    for (const record of await lookUp(topic.name, { partition, end }, offsets, parts)) {
      found.set(at(record), record);
    }
  }
  await parts.schemas.prepare([...found.values()]);
  return positions.map((position) => {
    const record = found.get(at(position));
    if (record === undefined) throw missing(topic.name, position, { count, ends });
    const { key, atMs } = record;
    const value = parts.schemas.decode(topic, record);
    return { topic: topic.name, position, key, value, atMs, bytes: sizeOf(record) };
  });
}

async function lookUp(
  topic: string,
  { partition, end }: { readonly partition: number; readonly end: number },
  offsets: readonly number[],
  { link, pages, closing }: FetchParts,
): Promise<readonly Raw[]> {
  let left = [...new Set(offsets)].sort((a, b) => a - b);
  const found: Raw[] = [];
  for (let [first = end] = left; first < end; [first = end] = left) {
    const page = await pages.page(link, topic, partition, first, PAGE);
    if (page.next === first && page.stable <= first) {
      await pause(LOOK_AGAIN_MS, closing); // not known to be committed yet, here or before
      continue;
    }
    const asked = new Set(left);
    found.push(...page.records.filter(({ offset }) => asked.has(offset)));
    const reached = Math.max(page.next, first + 1); // a gap is passed over
    left = left.filter((offset) => offset >= reached);
  }
  return found;
}

interface There {
  /** Partitions. */
  readonly count: number;
  /** By partition. */
  readonly ends: ReadonlyMap<number, number>;
}

function missing(topic: string, position: Position, { count, ends }: There): MillraceError {
  const { partition, offset } = position;
  if (count > 0 && partition >= count) return noPartition(topic, partition, count);
  const end = ends.get(partition) ?? 0;
  if (offset >= end) return noRecord(topic, position, end);
  return new MillraceError(
    'NOT_FOUND',
    `${topic} has no record at offset ${thousands(offset)} of partition ${partition}: the broker no longer keeps it, or its transaction was aborted`,
    { context: { topic, partition, offset } },
  );
}
