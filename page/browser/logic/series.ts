/**
 * A curve in buckets, as the server gives it, going on with single values from the stream. Buckets stay where
 * they are; when they become too many, neighbours merge and the width doubles, so that a peak is never lost
 * and the size is bounded. Pure.
 */
import type { Series } from '../../wire/index.ts';
import { pointsMax } from './lines.ts';

/** step, time, tokens trained so far, value (null = not finite) */
export type Value = readonly [number, number, number, number | null];
export type XUnit = 'step' | 'time' | 'tokens';

export function emptySeries(run: string, name: string): Series {
  return {
    run,
    name,
    width: 1,
    x: [],
    step: [],
    mean: [],
    min: [],
    max: [],
    count: [],
    shown: 0,
    total: 0,
    odd: 0,
    oddSteps: [],
  };
}

export function withValues(series: Series, values: readonly Value[], unit: XUnit): Series {
  if (values.length === 0) return series;
  const next = {
    ...series,
    x: [...series.x],
    step: [...series.step],
    mean: [...series.mean],
    min: [...series.min],
    max: [...series.max],
    count: [...series.count],
    oddSteps: [...series.oddSteps],
  };
  for (const value of values) append(next, value, unit);
  return next.x.length > pointsMax ? merged(next) : next;
}

type Open = {
  -readonly [K in keyof Series]: Series[K] extends readonly number[] ? number[] : Series[K];
};

function append(into: Open, [step, atMs, tokens, value]: Value, unit: XUnit): void {
  if (value === null) {
    into.odd++;
    if (into.oddSteps.length < 100) into.oddSteps.push(step);
    return;
  }
  into.shown++;
  into.total++;
  const x = unit === 'step' ? step : unit === 'time' ? atMs : tokens;
  const last = into.x.length - 1;
  const bucket = Math.floor(step / into.width);
  if (last >= 0 && Math.floor(into.step[last]! / into.width) >= bucket) {
    // The same bucket, or a step that comes late: it counts where the curve is.
    const count = into.count[last]! + 1;
    into.mean[last] = into.mean[last]! + (value - into.mean[last]!) / count;
    into.min[last] = Math.min(into.min[last]!, value);
    into.max[last] = Math.max(into.max[last]!, value);
    into.count[last] = count;
    into.x[last] = Math.max(into.x[last]!, x);
    return;
  }
  into.x.push(last >= 0 ? Math.max(x, into.x[last]!) : x);
  into.step.push(step);
  into.mean.push(value);
  into.min.push(value);
  into.max.push(value);
  into.count.push(1);
}

/** Twice the width: buckets that fall together become one. */
export function merged(series: Series): Series {
  const width = 2 * series.width;
  const out: Open = {
    ...emptySeries(series.run, series.name),
    x: [],
    step: [],
    mean: [],
    min: [],
    max: [],
    count: [],
    oddSteps: [...series.oddSteps],
  };
  out.width = width;
  out.shown = series.shown;
  out.total = series.total;
  out.odd = series.odd;
  series.x.forEach((x, i) => {
    const last = out.x.length - 1;
    const bucket = Math.floor(series.step[i]! / width);
    if (last < 0 || Math.floor(out.step[last]! / width) !== bucket) {
      out.x.push(x);
      out.step.push(series.step[i]!);
      out.mean.push(series.mean[i]!);
      out.min.push(series.min[i]!);
      out.max.push(series.max[i]!);
      out.count.push(series.count[i]!);
      return;
    }
    const count = out.count[last]! + series.count[i]!;
    out.mean[last] =
      (out.mean[last]! * out.count[last]! + series.mean[i]! * series.count[i]!) / count;
    out.min[last] = Math.min(out.min[last]!, series.min[i]!);
    out.max[last] = Math.max(out.max[last]!, series.max[i]!);
    out.count[last] = count;
    out.x[last] = x;
  });
  return out;
}

/** `showing 1,600 buckets of 30 steps; band = lowest to highest`; undefined if every value is shown. */
export function bucketNote(series: readonly Series[]): string | undefined {
  const widest = series.reduce((width, one) => Math.max(width, one.width), 1);
  const several = series.some(({ count }) => count.some((n) => n > 1));
  if (!several) return undefined;
  const of = widest > 1 ? `up to ${widest} steps` : 'one step';
  return `each point covers ${of}; band = lowest to highest`;
}
