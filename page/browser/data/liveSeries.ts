/** Curves that continue with values from the stream. */
import { useEffect, useState } from 'preact/hooks';
import type { Points, Series } from '../../wire/index.ts';
import { type Value, withValues, type XUnit } from '../logic/series.ts';
import { listenPoints } from './stream.ts';

/** Curves are drawn ten times a second: more is not seen. */
const DRAW_MS = 100;

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
    const waiting: Points[] = [];
    const timer = setInterval(() => {
      const heard = waiting.splice(0);
      setLive((before) => heard.reduce((grown, points) => withPoints(grown, points, unit), before));
    }, DRAW_MS);
    const unlisten = listenPoints((points) => waiting.push(points));
    return () => {
      clearInterval(timer);
      unlisten();
    };
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
