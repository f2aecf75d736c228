/** A series of the server as a line of a chart. Pure. */
import type { Series } from '../../wire/index.ts';
import type { Line } from './lines.ts';

export function lineOf(series: Series, label = series.name): Line {
  const several = series.count.some((n) => n > 1);
  return {
    label,
    xs: series.x,
    ys: series.mean,
    low: several ? series.min : undefined,
    high: several ? series.max : undefined,
  };
}
