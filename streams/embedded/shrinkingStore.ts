/**
 * The log's file as retention sees it: records leave it a segment at a time, in the transaction that records
 * where they went.
 */
import { join } from 'node:path';
import type { Candidate, Shrinking } from '../archive/retain.ts';
import { writeSegment } from '../archive/segments.ts';
import type { LogStore } from './store.ts';

interface Next extends Candidate {
  readonly topic: string;
  readonly from: number;
  readonly to: number;
}

export function shrinkingStore(
  store: LogStore,
  large: readonly string[],
  logFolder: string,
  archive = join(logFolder, 'archive'),
  write: typeof writeSegment = writeSegment,
): Shrinking<Next> {
  return {
    keptBytes: () => keptBytes(store, large),
    candidates: async (records) => large.flatMap((topic) => nextOf(store, topic, records)),
    async move({ topic, from, to }) {
      const sealed = Array.from({ length: to - from }, (_, i) => store.sealed(topic, from + i)!);
      const segment = await write({ logFolder, archive }, { of: topic, from, to }, sealed);
      const bytes = sealed.reduce((sum, { length }) => sum + length, 0);
      await store.archive(topic, segment, bytes);
    },
  };
}

function nextOf(store: LogStore, topic: string, records: number): readonly Next[] {
  const from = store.archived(topic).segments.at(-1)?.to ?? 0;
  const settled = Math.min(store.head(topic).end, ...store.groups(topic).map(([, { low }]) => low));
  // Keeps at least a segment: that is what a live view reads.
  if (from + 2 * records > settled) return [];
  const newestMs = store.record(topic, from + records - 1)?.atMs;
  return newestMs === undefined ? [] : [{ topic, from, to: from + records, newestMs }];
}

/** Bytes of the large topics still in the file. */
function keptBytes(store: LogStore, large: readonly string[]): number {
  return large.reduce(
    (sum, topic) => sum + store.head(topic).bytes - store.archived(topic).bytes,
    0,
  );
}
