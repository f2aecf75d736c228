/**
 * A radar chart as inline SVG: one axis per number, at most three series. A series is recognised by its line
 * and by the shape at its corners as well as by its colour, and every value can be read on hover and in the
 * label of the figure.
 */
import { NOTHING, type Show } from '../format/numbers.ts';
import { type Html, html } from './html.ts';

export interface RadarAxis {
  readonly label: string;
  /** The value at the rim, and how that is written. */
  readonly max: number;
  readonly rim: string;
  readonly show: Show;
}

export interface RadarSeries {
  readonly name: string;
  /** One an axis; null = not measured, drawn at the centre. */
  readonly values: readonly (number | null)[];
}

export interface Radar {
  readonly title: string;
  readonly axes: readonly RadarAxis[];
  readonly series: readonly RadarSeries[];
}

export const radarSeriesMax = 3;

const size = { width: 520, height: 320, x: 260, y: 158, radius: 110 };
const rings = [0.25, 0.5, 0.75, 1];

interface Point {
  readonly x: number;
  readonly y: number;
}

/**
 * Null for fewer than three axes, which make no area. Throws a RangeError for more series than can be
 * distinguished.
 */
export function radar({ title, axes, series }: Radar): Html | null {
  if (series.length > radarSeriesMax) {
    throw new RangeError(
      `a radar chart shows at most ${radarSeriesMax} series, not ${series.length}`,
    );
  }
  if (axes.length < 3 || series.length === 0) return null;
  return html`<figure class="radar">
<figcaption>${title} ${series.length > 1 ? legend(series) : null}</figcaption>
<svg viewBox="0 0 ${size.width} ${size.height}" role="img" aria-label="${spoken(title, axes, series)}">
${rings.map((ring) => html`<polygon class="ring" points="${polygon(axes.map(() => ring))}"/>`)}
${axes.map((axis, i) => spoke(axis, { index: i, count: axes.length, values: series.map(({ values }) => values[i] ?? null) }))}
${series.map((one, i) => shape(one, i, axes))}
</svg></figure>`;
}

/** Where `share` (0 centre, 1 rim) is on axis `index` of `count`; the first points up, then clockwise. */
function place(share: number, index: number, count: number): Point {
  const angle = (2 * Math.PI * index) / count - Math.PI / 2;
  const round = (value: number): number => Math.round(value * 10) / 10;
  return {
    x: round(size.x + share * size.radius * Math.cos(angle)),
    y: round(size.y + share * size.radius * Math.sin(angle)),
  };
}

interface Spoke {
  readonly index: number;
  readonly count: number;
  /** Of each series; null = not measured. */
  readonly values: readonly (number | null)[];
}

function polygon(shares: readonly number[]): string {
  return shares
    .map((share, i) => place(share, i, shares.length))
    .map(({ x, y }) => `${x},${y}`)
    .join(' ');
}

/** The axis with its name, and below it the values of the series. */
function spoke({ label, rim: end, show }: RadarAxis, { index, count, values }: Spoke): Html {
  const text = values.map((value) => (value === null ? NOTHING : show(value))).join(' · ');
  const rim = place(1, index, count);
  const at = place(1.14, index, count);
  const anchor = at.x < size.x - 5 ? 'end' : at.x > size.x + 5 ? 'start' : 'middle';
  return html`<line class="grid" x1="${size.x}" y1="${size.y}" x2="${rim.x}" y2="${rim.y}"/>
<text class="axis" x="${at.x}" y="${at.y}" text-anchor="${anchor}">${label}</text>
<text class="tick" x="${at.x}" y="${at.y + 14}" text-anchor="${anchor}">${text} of ${end}</text>`;
}

function shape({ name, values }: RadarSeries, colour: number, axes: readonly RadarAxis[]): Html {
  const shares = values.map((value, i) => shareOf(value, axes[i]!.max));
  const corners = shares.map((share, i) => {
    const { label, show } = axes[i]!;
    const value = values[i] ?? null;
    const text = `${name}, ${label}: ${value === null ? 'not measured' : show(value)}`;
    return html`<g class="corner">${marker(place(share, i, shares.length), colour)}<title>${text}</title></g>`;
  });
  return html`<g class="area s${colour}"><polygon points="${polygon(shares)}"/>${corners}</g>`;
}

function shareOf(value: number | null, max: number): number {
  if (value === null || !(max > 0)) return 0;
  return Math.min(1, Math.max(0, value / max));
}

/** A circle, a square, a triangle. */
function marker({ x, y }: Point, colour: number): Html {
  if (colour === 0) return html`<circle cx="${x}" cy="${y}" r="4"/>`;
  if (colour === 1) return html`<rect x="${x - 4}" y="${y - 4}" width="8" height="8"/>`;
  return html`<path d="M ${x} ${y - 5} l 5 9 l -10 0 z"/>`;
}

const marks = ['●', '■', '▲'];

function legend(series: readonly RadarSeries[]): Html {
  const items = series.map(
    ({ name }, i) => html`<span class="key s${i}"><b>${marks[i]!}</b> ${name}</span>`,
  );
  return html`<span class="legend">${items}</span>`;
}

function spoken(title: string, axes: readonly RadarAxis[], series: readonly RadarSeries[]): string {
  const text = series.map(({ name, values }) => {
    const parts = values.map((value, i) => {
      const { label, show } = axes[i]!;
      return `${label} ${value === null ? 'not measured' : show(value)}`;
    });
    return `${name}: ${parts.join(', ')}`;
  });
  return `${title}. ${text.join('. ')}`;
}

/** A round number at or above all of these, for an axis without a natural end. */
export function roundedUp(values: readonly (number | null)[]): number {
  const most = Math.max(0, ...values.map((value) => value ?? 0));
  if (most === 0) return 1;
  const power = 10 ** Math.floor(Math.log10(most));
  return [1, 2, 5, 10].map((step) => step * power).find((step) => step >= most * 0.999)!;
}
