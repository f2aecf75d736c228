/**
 * A part of a curve as fine as the log has it. The book's buckets become wider as a run goes on; when a page zooms in, the records of
 * that part are read again, found by where their steps lie (`places.ts`).
 */
import { topics } from '../../streams/topics.ts';
import { BucketSeries } from './bucketSeries.ts';
import { stretch } from './records.ts';
import type { RunView } from './runView.ts';

/** Records that are read for one look. */
const READ_MAX = 50_000;
/** Null where the book is as fine, the part is all there is, or it holds too many records to be read for one look. */
export async function closeUp(
  view: RunView,
  name: string,
  { from, to }: { readonly from: number; readonly to: number },
): Promise<BucketSeries | null> {
  const known = view.book.series(name);
  const { log } = view.viewed;
  // On a broker there are several partitions, and reading back is slow.
  if (known === null || known.width === 1 || log.standing === undefined) return null;
  const { buckets } = known.between(from, to, Number.POSITIVE_INFINITY);
  const values = buckets.reduce((sum, { count }) => sum + count, 0);
  if (values === 0 || values === known.count) return null;
  const place = view.places.around(buckets[0]!.step, buckets.at(-1)!.lastStep);
  const stats = await log.stats();
  const end = place.to ?? stats.find(({ topic }) => topic === topics.metrics.name)?.records ?? 0;
  if (end - place.from > READ_MAX) return null;
  const { rows } = await stretch(log, topics.metrics, {
    from: { kind: 'offset', offset: place.from },
    to: { kind: 'offset', offset: end },
  });
  const fine = new BucketSeries();
  for (const { value } of rows) {
    if (value.name !== name || value.step < from || value.step > to) continue;
    const { step, atMs } = value;
    fine.add({ step, atMs, tokens: known.tokensAt(step), value: value.value });
  }
  return fine.count === 0 ? null : fine;
}
