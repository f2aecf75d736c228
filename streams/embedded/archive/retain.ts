/**
 * Keeps the log's file small: the oldest records of the large topics go to the archive once they are more than is to be kept.
 *
 * Only whole segments go, only what every group has settled, and never the newest segment's worth. Small topics (manifests, batches,
 * metrics, questions, control) stay: every start reads them.
 */
import { join } from 'node:path';
import type { Retained, Retention } from '../../log.ts';
import type { Store } from '../store.ts';
import { writeSegment } from './segments.ts';

/** Topics whose records may leave the file. */
export const LARGE: readonly string[] = ['rollouts', 'tool-calls', 'scored', 'selected'];

const SEGMENT_RECORDS = 1024;

/** Moves what is too much or too old, oldest first. */
export async function retain(
  store: Store,
  logFolder: string,
  { bytesMax, ageMaxMs, archive, segmentRecords = SEGMENT_RECORDS }: Retention,
  nowMs: number,
): Promise<Retained> {
  const folders = { logFolder, archive: archive ?? join(logFolder, 'archive') };
  let [records, segments] = [0, 0];
  for (;;) {
    const next = oldest(store, segmentRecords);
    if (next === null) break;
    const tooOld = ageMaxMs !== undefined && next.newestMs < nowMs - ageMaxMs;
    const tooMuch = bytesMax !== undefined && keptBytes(store) > bytesMax;
    if (!tooOld && !tooMuch) break;
    const { topic, from } = next;
    const sealed = Array.from({ length: segmentRecords }, (_, i) => store.sealed(topic, from + i)!);
    const segment = await writeSegment(folders, topic, from, sealed);
    await store.archive(
      topic,
      segment,
      sealed.reduce((sum, { length }) => sum + length, 0),
    );
    records += sealed.length;
    segments += 1;
  }
  return { records, segments };
}

/** The segment that is next to go: of the large topics' oldest whole ones that all groups have settled, the oldest. */
function oldest(
  store: Store,
  size: number,
): { readonly topic: string; readonly from: number; readonly newestMs: number } | null {
  const found = LARGE.flatMap((topic) => {
    const from = store.archived(topic).segments.at(-1)?.to ?? 0;
    const settled = Math.min(
      store.head(topic).end,
      ...store.groups(topic).map(([, { low }]) => low),
    );
    // The newest segment's worth stays: who looks at a live run looks there.
    if (from + 2 * size > settled) return [];
    const newestMs = store.record(topic, from + size - 1)?.atMs;
    return newestMs === undefined ? [] : [{ topic, from, newestMs }];
  });
  return found.sort((a, b) => a.newestMs - b.newestMs)[0] ?? null;
}

/** Of the large topics, what lies in the file. */
export function keptBytes(store: Store): number {
  return LARGE.reduce(
    (sum, topic) => sum + store.head(topic).bytes - store.archived(topic).bytes,
    0,
  );
}
