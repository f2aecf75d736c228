/**
 * Part of a curve as fine as the log has it. The book's buckets grow wider as a run goes on; when a page
 * zooms in, the records of that part are read again, located by their steps (`places.ts`).
 */
import type { Log } from '../../../streams/index.ts';
import { type Metric, topics } from '../../../topics/index.ts';
import { BucketSeries } from './bucketSeries.ts';
import type { Span } from './places.ts';
import { stretch } from './records.ts';
import type { RunView } from './runView.ts';

/** Records read for one look. */
const READ_MAX = 50_000;
/**
 * Null if the book is as fine, the part is the whole curve, or it holds too many records to read for one
 * look.
 */
export async function closeUp(
  view: RunView,
  name: string,
  { from, to }: { readonly from: number; readonly to: number },
): Promise<BucketSeries | null> {
  const known = view.book.series(name);
  const { log } = view.viewed;
  if (known === null || known.width === 1) return null;
  const { buckets } = known.between(from, to, Number.POSITIVE_INFINITY);
  const values = buckets.reduce((sum, { count }) => sum + count, 0);
  if (values === 0 || values === known.count) return null;
  const spans = view.places.around(buckets[0]!.step, buckets.at(-1)!.lastStep);
  if (spans.reduce((sum, span) => sum + span.to - span.from, 0) > READ_MAX) return null;
  const read = await Promise.all(spans.map((span) => metricsIn(log, name, span)));
  const fine = new BucketSeries();
  for (const { step, atMs, value } of read.flat().sort((a, b) => a.step - b.step)) {
    if (step < from || step > to) continue;
    fine.add({ step, atMs, tokens: known.tokensAt(step), value });
  }
  return fine.count === 0 ? null : fine;
}

async function metricsIn(log: Log, name: string, { partition, from, to }: Span): Promise<Metric[]> {
  if (from >= to) return [];
  const { rows } = await stretch(log, topics.metrics, {
    from: { kind: 'offset', offset: from },
    to: { kind: 'offset', offset: to },
    partitions: [partition],
  });
  return rows.map(({ value }) => value).filter((value) => value.name === name);
}
