/** Curves that continue with values from the stream. */
import { useEffect, useState } from 'preact/hooks';
import type { Points, Series } from '../../wire/index.ts';
import { type Value, withValues, type XUnit } from '../logic/series.ts';
import { listenPoints } from './stream.ts';

/** `on` = whether they go on; a view as of a step, or one that is zoomed in, is still. */
export function useLiveSeries(
  series: readonly Series[],
  unit: XUnit,
  on: boolean,
): readonly Series[] {
  const [live, setLive] = useState(series);
  useEffect(() => {
    setLive(series);
    if (!on) return;
    return listenPoints((points) => setLive((before) => withPoints(before, points, unit)));
  }, [series, on, unit]);
  return live === series || on ? live : series;
}

function withPoints(
  before: readonly Series[],
  { run, series }: Points,
  unit: XUnit,
): readonly Series[] {
  return before.map((one) => {
    const mine = (one.run === run && series[one.name]) || [];
    // The stream may begin a little before the last point.
    const after = one.step.at(-1) ?? -1;
    const fresh = mine.filter(([step]) => step > after || one.width > 1) as readonly Value[];
    return withValues(one, fresh, unit);
  });
}
