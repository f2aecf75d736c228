/** The metrics of two runs side by side: the mean of each over the steps of a round. Pure. */
import { isTimeMetric } from '../topics/index.ts';
import type { MetricBook } from './metricBook.ts';

export interface ComparedMetric {
  readonly round: number;
  readonly name: string;
  /** Null if a run does not have it. */
  readonly a: number | null;
  readonly b: number | null;
}

/** By round and name; those that measure time are left out, since they never agree. */
export function compareMetrics(a: MetricBook, b: MetricBook): ComparedMetric[] {
  const of = (book: MetricBook) =>
    book.means
      .filter((mean) => !isTimeMetric(mean.name))
      .map(({ round, name }) => [`${round} ${name}`, { round, name }] as const);
  return [...new Map([...of(a), ...of(b)]).values()]
    .map(({ round, name }) => ({ round, name, a: a.mean(name, round), b: b.mean(name, round) }))
    .sort((x, y) => x.round - y.round || (x.name < y.name ? -1 : 1));
}
