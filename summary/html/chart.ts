/**
 * A line chart as inline SVG: steps across, values up, at most two series. The value under the pointer is
 * shown above the curves, without a script: each step has a band of its own, and the style shows its contents
 * on hover. Many noisy points are drawn faint, and their moving mean over them. Colours come from the page's
 * style, so a chart is right in light and dark.
 */

import type { Point, Series } from '../curves.ts';
import type { Show } from '../format/numbers.ts';
import { ticks, wholeTicks } from '../format/ticks.ts';
import { type Html, html } from './html.ts';
import { movingMean } from './movingMean.ts';

export interface Chart {
  readonly title: string;
  readonly series: readonly Series[];
  readonly show: Show;
  /** The first and the last step of the axis: all charts of a page share them. */
  readonly steps: readonly [number, number];
  /** The value axis begins at 0. */
  readonly fromZero?: boolean;
  /** Steps at which a round ends: faint lines. */
  readonly marks?: readonly number[];
}

const size = { width: 420, height: 216, left: 52, right: 14, top: 24, bottom: 30 };
/** Beyond this many points they are averaged in buckets: a curve has no more pixels. */
const pointsMax = 300;
/** Limit of bands for the pointer; narrower ones could not be hit. */
const bandsMax = 120;

/** A figure with title, legend and curves; says so when there is nothing to draw. */
export function chart({ title, series, show, steps, fromZero, marks = [] }: Chart): Html {
  const drawn = series
    .map((one, colour) => ({ ...one, colour, points: thinned(one.points.filter(drawable)) }))
    .filter(({ points }) => points.length > 0);
  if (drawn.length === 0) {
    return html`<figure><figcaption>${title}</figcaption><p class="muted">no data yet</p></figure>`;
  }
  const all = drawn.flatMap(({ points }) => points);
  const ys = [
    ...all.flatMap(({ y, low = y, high = y }) => [y, low, high]),
    ...(fromZero === true ? [0] : []),
  ];
  const yTicks = ticks(Math.min(...ys), Math.max(...ys));
  const [low, high] = steps;
  const place = scale(steps, [yTicks[0]!, yTicks.at(-1)!]);
  return html`<figure>
<figcaption>${title} ${drawn.length > 1 ? legend(drawn) : null}</figcaption>
<svg viewBox="0 0 ${size.width} ${size.height}" role="img" aria-label="${title} by step">
${yTicks.map((y) => gridline(place({ x: low, y }).y, show(y)))}
${marks.filter((x) => x > low && x < high).map((x) => mark(place({ x, y: 0 }).x))}
${stepTicks(steps, place)}
${drawn.map((one) => curve(one, place))}
${readouts(drawn, place, show)}
</svg></figure>`;
}

type Place = (point: Point) => Point;

/** A series keeps its colour even if another has nothing to draw. */
type Drawn = Series & { readonly colour: number };

function drawable({ x, y }: Point): boolean {
  return Number.isFinite(x) && Number.isFinite(y);
}

function thinned(points: readonly Point[]): readonly Point[] {
  if (points.length <= pointsMax) return points;
  const width = Math.ceil(points.length / pointsMax);
  const mean = (values: readonly number[]): number =>
    values.reduce((sum, value) => sum + value, 0) / values.length;
  return Array.from({ length: Math.ceil(points.length / width) }, (_, index) => {
    const bucket = points.slice(index * width, (index + 1) * width);
    return { x: bucket.at(-1)!.x, y: mean(bucket.map(({ y }) => y)) };
  });
}

function scale(x: readonly [number, number], y: readonly [number, number]): Place {
  const width = size.width - size.left - size.right;
  const height = size.height - size.top - size.bottom;
  const share = (value: number, [low, high]: readonly [number, number]): number =>
    high === low ? 0.5 : (value - low) / (high - low);
  const round = (value: number): number => Math.round(value * 10) / 10;
  return (point) => ({
    x: round(size.left + share(point.x, x) * width),
    y: round(size.top + (1 - share(point.y, y)) * height),
  });
}

function gridline(y: number, label: string): Html {
  return html`<line class="grid" x1="${size.left}" x2="${size.width - size.right}" y1="${y}" y2="${y}"/>
<text class="tick" x="${size.left - 6}" y="${y + 4}" text-anchor="end">${label}</text>`;
}

function mark(x: number): Html {
  return html`<line class="mark" x1="${x}" x2="${x}" y1="${size.top}" y2="${size.height - size.bottom}"/>`;
}

/** The first says what the axis is. */
function stepTicks([low, high]: Chart['steps'], place: Place): Html {
  const foot = size.height - size.bottom;
  const labels = wholeTicks(low, high).map((x, i) => {
    const at = place({ x, y: 0 }).x;
    return html`<line class="axis-tick" x1="${at}" x2="${at}" y1="${foot}" y2="${foot + 4}"/>
<text class="tick" x="${at}" y="${foot + 17}" text-anchor="middle">${i === 0 ? 'step ' : ''}${x}</text>`;
  });
  return html`${labels}`;
}

function curve({ points, dots, exact, colour }: Drawn, place: Place): Html {
  const path = (of: readonly Point[]): string =>
    of
      .map((point) => place(point))
      .map(({ x, y }) => `${x},${y}`)
      .join(' ');
  const smooth = dots === true || exact === true ? null : movingMean(points);
  const lines =
    smooth === null
      ? html`<polyline points="${path(points)}"/>`
      : html`<polyline class="raw" points="${path(points)}"/><polyline points="${path(smooth)}"/>`;
  const visible = dots === true || points.length === 1;
  return html`<g class="series s${colour}">${lines}${visible ? points.map((point) => dot(point, place)) : null}</g>`;
}

/** A point that matters by itself, with its interval if it has one. */
function dot(point: Point, place: Place): Html {
  const { x, y } = place(point);
  const { low, high } = point;
  const interval =
    low === undefined || high === undefined
      ? null
      : html`<line class="interval" x1="${x}" x2="${x}" y1="${place({ x: point.x, y: low }).y}" y2="${place({ x: point.x, y: high }).y}"/>`;
  return html`${interval}<circle class="dot" cx="${x}" cy="${y}" r="3.5"/>`;
}

/** Above the curves: the last values, or those of the step under the pointer. */
function readouts(drawn: readonly Drawn[], place: Place, show: Show): Html {
  const all = [...new Set(drawn.flatMap(({ points }) => points.map(({ x }) => x)))].sort(
    (a, b) => a - b,
  );
  const every = Math.ceil(all.length / bandsMax);
  const dotted = new Set(
    drawn.flatMap(({ dots, points }) => (dots === true ? points.map(({ x }) => x) : [])),
  );
  const steps = all.filter((x, i) => i % every === 0 || i === all.length - 1 || dotted.has(x));
  const edges = steps.map((x) => place({ x, y: 0 }).x);
  const bands = steps.map((step, i) => {
    const from = i === 0 ? size.left - 8 : (edges[i - 1]! + edges[i]!) / 2;
    const to = i === steps.length - 1 ? size.width : (edges[i]! + edges[i + 1]!) / 2;
    return html`<g class="at"><rect x="${tenths(from)}" y="0" width="${tenths(to - from)}" height="${size.height}"/>${readout(step, { drawn, place, show })}</g>`;
  });
  const last = steps.at(-1)!;
  return html`<text class="rest" x="${size.width - size.right}" y="13" text-anchor="end">${valuesText(last, { drawn, show })}</text>${bands}`;
}

interface Read {
  readonly drawn: readonly Drawn[];
  readonly place: Place;
  readonly show: Show;
}

function readout(step: number, { drawn, place, show }: Read): Html {
  const x = place({ x: step, y: 0 }).x;
  const points = drawn.flatMap(({ points, colour }) => {
    const at = points.find((point) => point.x === step);
    return at === undefined
      ? []
      : [html`<circle class="s${colour}" cx="${x}" cy="${place(at).y}" r="3.5"/>`];
  });
  return html`<g class="readout"><line x1="${x}" x2="${x}" y1="${size.top}" y2="${size.height - size.bottom}"/>${points}
<text x="${size.width - size.right}" y="13" text-anchor="end">${valuesText(step, { drawn, show })}</text></g>`;
}

function valuesText(step: number, { drawn, show }: Pick<Read, 'drawn' | 'show'>): string {
  const values = drawn.flatMap(({ name, points }) => {
    const at = points.find(({ x }) => x === step);
    if (at === undefined) return [];
    return [drawn.length === 1 ? show(at.y) : `${name} ${show(at.y)}`];
  });
  return [`step ${step}`, ...values].join(' · ');
}

function tenths(value: number): number {
  return Math.round(value * 10) / 10;
}

function legend(series: readonly Drawn[]): Html {
  const items = series.map(
    ({ name, colour }) => html`<span class="key s${colour}"><i></i>${name}</span>`,
  );
  return html`<span class="legend">${items}</span>`;
}
