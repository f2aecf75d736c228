/**
 * A line chart as inline SVG: one axis each way, gridlines, at most two series, values on hover by `title`.
 * Colours come from the page's style, so a chart is right in light and dark.
 */
import type { Show } from '../numbers.ts';
import type { Point, Series } from '../summary/curves.ts';
import { type Html, html } from './html.ts';

export interface Chart {
  readonly title: string;
  readonly series: readonly Series[];
  readonly show: Show;
  /** The value axis begins at 0. */
  readonly fromZero?: boolean;
  /** Steps at which a round ends: faint lines. */
  readonly marks?: readonly number[];
}

const size = { width: 420, height: 210, left: 52, right: 12, top: 10, bottom: 28 };
/** More points than this are averaged in buckets: a curve has no more pixels. */
const pointsMax = 300;

/** A figure with title, legend and curves; says so when there is nothing to draw. */
export function chart({ title, series, show, fromZero, marks = [] }: Chart): Html {
  const drawn = series
    .map((one, colour) => ({ ...one, colour, points: thinned(one.points.filter(drawable)) }))
    .filter(({ points }) => points.length > 0);
  if (drawn.length === 0) {
    return html`<figure><figcaption>${title}</figcaption><p class="muted">no data yet</p></figure>`;
  }
  const all = drawn.flatMap(({ points }) => points);
  const xs = all.map(({ x }) => x);
  const ys = [...all.map(({ y }) => y), ...(fromZero === true ? [0] : [])];
  const yTicks = ticks(Math.min(...ys), Math.max(...ys));
  const place = scale([Math.min(...xs), Math.max(...xs)], [yTicks[0]!, yTicks.at(-1)!]);
  return html`<figure>
<figcaption>${title} ${drawn.length > 1 ? legend(drawn) : null}</figcaption>
<svg viewBox="0 0 ${size.width} ${size.height}" role="img" aria-label="${title} by step">
${yTicks.map((y) => gridline(place({ x: xs[0]!, y }).y, show(y)))}
${marks.filter((x) => x > Math.min(...xs) && x < Math.max(...xs)).map((x) => mark(place({ x, y: 0 }).x))}
${stepLabels(Math.min(...xs), Math.max(...xs), place)}
${drawn.map((one) => curve(one, place, show))}
</svg></figure>`;
}

type Place = (point: Point) => Point;

/** A series keeps its colour where another has nothing to draw. */
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

/** Three to six round values that enclose the range. */
function ticks(low: number, high: number): number[] {
  const span = high - low || Math.abs(high) || 4;
  const rough = span / 4;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 2.5, 5, 10].map((f) => f * power).find((s) => s >= rough * 0.999)!;
  const first = Math.floor(low / step + 1e-9);
  const last = Math.max(first + 1, Math.ceil(high / step - 1e-9));
  return Array.from({ length: last - first + 1 }, (_, index) => (first + index) * step);
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

function stepLabels(low: number, high: number, place: Place): Html {
  const y = size.height - 8;
  const ends = low === high ? [low] : [low, high];
  const labels = ends.map((x, index) => {
    const anchor = ends.length === 1 ? 'middle' : index === 0 ? 'start' : 'end';
    return html`<text class="tick" x="${place({ x, y: 0 }).x}" y="${y}" text-anchor="${anchor}">step ${x}</text>`;
  });
  return html`${labels}`;
}

function curve({ name, points, dots, colour }: Drawn, place: Place, show: Show): Html {
  const placed = points.map((point) => ({ ...point, at: place(point) }));
  const line = placed.map(({ at }) => `${at.x},${at.y}`).join(' ');
  const visible = dots === true || points.length === 1;
  const circles = placed.map(
    ({ x, y, at }) =>
      html`<circle class="${visible ? 'dot' : 'hover'}" cx="${at.x}" cy="${at.y}" r="${visible ? 3.5 : 6}"><title>${name}, step ${x}: ${show(y)}</title></circle>`,
  );
  return html`<g class="series s${colour}"><polyline points="${line}"/>${circles}</g>`;
}

function legend(series: readonly Drawn[]): Html {
  const items = series.map(
    ({ name, colour }) => html`<span class="key s${colour}"><i></i>${name}</span>`,
  );
  return html`<span class="legend">${items}</span>`;
}
