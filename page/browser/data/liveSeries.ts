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
    let waiting: Points[] = [];
    let timer: ReturnType<typeof setTimeout> | undefined;
    const draw = (): void => {
      const heard = waiting;
      [waiting, timer] = [[], undefined];
      setLive((before) => heard.reduce((grown, points) => withPoints(grown, points, unit), before));
    };
    const unlisten = listenPoints((points) => {
      waiting.push(points);
      timer ??= setTimeout(draw, DRAW_MS);
    });
    return () => {
      clearTimeout(timer);
      unlisten();
    };
  }, [series, on, unit]);
  return live === series || on ? live : series;
}

/** The same list if nothing in it changes. */
function withPoints(
  before: readonly Series[],
  { run, series }: Points,
  unit: XUnit,
): readonly Series[] {
  let changed = false;
  const next = before.map((one) => {
    const mine = one.run === run ? series[one.name] : undefined;
    if (mine === undefined) return one;
    // The stream may begin a little before the last point.
    const after = one.step.at(-1) ?? -1;
    const fresh = mine.filter(([step]) => step > after || one.width > 1) as readonly Value[];
    if (fresh.length === 0) return one;
    changed = true;
    return withValues(one, fresh, unit);
  });
  return changed ? next : before;
}
