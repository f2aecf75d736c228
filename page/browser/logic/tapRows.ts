/**
 * The rows of a tap, newest first: what comes in goes to its place, nothing is there twice, and there are
 * never too many. Pure.
 */
import type { TopicRow } from '../../wire/index.ts';

export const rowsMax = 2000;

/** Rows of several partitions are in the order of their times, those of one in the order of their offsets. */
export function newestFirst(a: TopicRow, b: TopicRow): number {
  return a.partition === b.partition
    ? b.offset - a.offset
    : b.atMs - a.atMs || b.partition - a.partition;
}

/**
 * `drop` = which end goes when there are too many: the old one while one follows, the new one while one reads
 * back.
 */
export function withRows(
  rows: readonly TopicRow[],
  more: readonly TopicRow[],
  drop: 'oldest' | 'newest',
): readonly TopicRow[] {
  const known = new Set(rows.map(({ ref }) => ref));
  const fresh = more.filter(({ ref }) => !known.has(ref));
  if (fresh.length === 0) return rows;
  const all = [...rows, ...fresh].sort(newestFirst);
  if (all.length <= rowsMax) return all;
  return drop === 'oldest' ? all.slice(0, rowsMax) : all.slice(-rowsMax);
}
