/** The metrics of two runs side by side: the mean of each over the steps of a stage. Pure. */
import { isTimeMetric } from '../topics/index.ts';
import type { MetricBook } from './metricBook.ts';

export interface ComparedMetric {
  readonly stage: number;
  readonly name: string;
  /** Null where a run does not have it. */
  readonly a: number | null;
  readonly b: number | null;
}

/** By stage and name; those that measure time are left out, since they never agree. */
export function compareMetrics(a: MetricBook, b: MetricBook): ComparedMetric[] {
  const of = (book: MetricBook) =>
    book.means
      .filter((mean) => !isTimeMetric(mean.name))
      .map(({ stage, name }) => [`${stage} ${name}`, { stage, name }] as const);
  return [...new Map([...of(a), ...of(b)]).values()]
    .map(({ stage, name }) => ({ stage, name, a: a.mean(name, stage), b: b.mean(name, stage) }))
    .sort((x, y) => x.stage - y.stage || (x.name < y.name ? -1 : 1));
}
