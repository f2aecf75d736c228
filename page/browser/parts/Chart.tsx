/**
 * Curves on a canvas, by uPlot: one cursor for all charts of a page, drag to zoom, double-click to zoom out,
 * arrow keys for those without a pointer, and a table. A chart that is off the screen is destroyed,
 * so that memory stays flat.
 */

import { effect } from '@preact/signals';
import { useEffect, useId, useRef, useState } from 'preact/hooks';
import uPlot from 'uplot';
import { thousands } from '../../../base/text/index.ts';
import { curveSentence, tickTexts, value } from '../logic/format.ts';
import { type Column, joined, type Line, strokeOf } from '../logic/lines.ts';
import { smoothed } from '../logic/smooth.ts';
import { About } from './About.tsx';
import { appearance } from './appearance.ts';
import { Scrolls, Th } from './basics.tsx';

export interface ChartProps {
  readonly title: string;
  /** Its name in `metrics`; the title if it is left out. */
  readonly metric?: string;
  readonly lines: readonly Line[];
  /** Number of the colour of each line; their places if it is left out. */
  readonly colours?: readonly number[];
  /** 0..1; the values themselves stay as a pale line. */
  readonly smoothing?: number;
  /** Values that were not finite: where. */
  readonly broken?: readonly number[] | undefined;
  /** Drawn as dashed uprights: where rounds end. */
  readonly marks?: readonly number[] | undefined;
  /** Under the chart: what a point means, say. */
  readonly note?: string | undefined;
  readonly unit?: 'steps' | 'time' | 'tokens';
  readonly href?: string | undefined;
  readonly small?: boolean;
  /** Range of x that is shown; null = all of it. */
  readonly range?: readonly [number, number] | null;
  readonly onZoom?: (range: readonly [number, number] | null) => void;
}

const syncKey = 'millrace';

export function Chart(props: ChartProps) {
  const { title, lines, note, href, unit = 'steps', small = false } = props;
  const [asTable, setTable] = useState(false);
  const id = useId();
  const summary = lines
    .map(({ label, xs, ys }) =>
      curveSentence(lines.length === 1 ? title : `${title}, ${label}`, xs, ys, unit),
    )
    .join('. ');
  const last = lines.length === 1 ? lines[0]!.ys.findLast((y) => y !== null) : undefined;
  const broken = props.broken?.length ?? 0;
  return (
    <figure class={small ? 'chart small' : 'chart'}>
      <figcaption>
        <span class="chart-title" id={id}>
          {href === undefined ? title : <a href={href}>{title}</a>}
          <About name={props.metric ?? title} />
        </span>
        {last !== undefined && <output class="chart-last">{value(last)}</output>}
        <button
          type="button"
          class="quiet"
          aria-pressed={asTable}
          aria-describedby={id}
          onClick={() => setTable(!asTable)}
        >
          {asTable ? 'as chart' : 'as table'}
        </button>
      </figcaption>
      {asTable ? (
        <CurveTable lines={lines} unit={unit} />
      ) : (
        <Canvas {...props} summary={`${summary}.`} />
      )}
      {lines.length > 1 && <Legend {...props} />}
      {(note !== undefined || broken > 0) && (
        <p class="note">
          {note}
          {broken > 0 && (
            <span class="bad">
              {' '}
              {broken} {broken === 1 ? 'value is' : 'values are'} not finite: gap and red mark
            </span>
          )}
        </p>
      )}
    </figure>
  );
}

function Legend({ lines, colours }: ChartProps) {
  return (
    <ul class="legend">
      {lines.map(({ label, ys }, place) => (
        <li key={label}>
          <svg
            width="28"
            height="8"
            aria-hidden="true"
            class={`ink${colours?.[place] ?? place % 6}`}
          >
            <line
              x1="0"
              y1="4"
              x2="28"
              y2="4"
              stroke-width="2"
              stroke-dasharray={strokeOf(place).dash.join(' ')}
            />
          </svg>
          <span>{label}</span> <b>{value(ys.findLast((y) => y !== null))}</b>
        </li>
      ))}
    </ul>
  );
}

function Canvas(props: ChartProps & { readonly summary: string }) {
  const { small } = props;
  const box = useRef<HTMLDivElement>(null);
  const said = useRef<HTMLSpanElement>(null);
  const plot = useRef<uPlot | null>(null);
  const latest = useRef(props);
  latest.current = props;

  useEffect(() => {
    const element = box.current!;
    let visible = false;
    const draw = (): void => {
      plot.current?.destroy();
      plot.current = visible ? plotOf(element, latest) : null;
    };
    const seen = new IntersectionObserver(
      (entries) => {
        const now = entries.at(-1)!.isIntersecting;
        if (now === visible) return;
        visible = now;
        draw();
      },
      { rootMargin: '1800px' },
    );
    seen.observe(element);
    const sized = new ResizeObserver(() => {
      const { clientWidth: width, clientHeight: height } = element;
      if (plot.current !== null && plot.current.width !== width)
        plot.current.setSize({ width, height });
    });
    sized.observe(element);
    // On paper all of them are in sight, the small ones in two columns of a sheet.
    const print = (): void => {
      visible = true;
      draw();
      plot.current!.setSize({ width: small ? 320 : 680, height: element.clientHeight });
    };
    addEventListener('beforeprint', print);
    addEventListener('afterprint', draw);
    // Colours come from the style, so another scheme needs another drawing.
    const unlook = effect(() => {
      appearance.value;
      draw();
    });
    return () => {
      seen.disconnect();
      sized.disconnect();
      removeEventListener('beforeprint', print);
      removeEventListener('afterprint', draw);
      unlook();
      plot.current?.destroy();
      plot.current = null;
    };
  }, [props.lines.length, props.lines.some(({ low }) => low !== undefined), props.smoothing === 0]);

  useEffect(() => {
    if (plot.current === null) return;
    plot.current.setData(dataOf(props), false);
    showRange(plot.current, props);
  }, [props.lines, props.smoothing, props.range]);

  const onKey = (event: KeyboardEvent): void => {
    const to = { ArrowLeft: -1, ArrowRight: 1, Home: -Infinity, End: Infinity }[event.key];
    if (to === undefined || plot.current === null) return;
    event.preventDefault();
    event.stopPropagation();
    const { data, cursor } = plot.current;
    const end = data[0].length - 1;
    const index = Math.max(0, Math.min(end, (cursor.idx ?? (to < 0 ? end + 1 : -1)) + to));
    plot.current.setCursor({ left: plot.current.valToPos(data[0][index]!, 'x'), top: 10 });
    say(said.current!, index, latest.current);
  };
  return (
    <>
      <div
        class="canvas"
        ref={box}
        role="img"
        tabIndex={0}
        aria-label={props.summary}
        onKeyDown={onKey}
      />
      <span class="unseen" aria-live="polite" ref={said} />
    </>
  );
}

let saidMs = Number.NEGATIVE_INFINITY;

/** At most twice a second, so that a held key does not queue up speech. */
function say(element: HTMLElement, index: number, props: ChartProps): void {
  if (performance.now() - saidMs < 500) return;
  saidMs = performance.now();
  const [x, ...parts] = textsAt(index, props, true);
  element.textContent = `${x}: ${parts.join(', ')}`;
}

/** Where it is, and the value of each curve there. */
function textsAt(
  index: number,
  { lines, unit = 'steps' }: ChartProps,
  named = lines.length > 1,
): string[] {
  const [xs, ...columns] = joined(lines);
  const parts = lines.flatMap(({ label }, place) => {
    const y = columns[place]![index] ?? null;
    return y === null && lines.length > 1 ? [] : named ? `${label} ${value(y)}` : value(y);
  });
  return [xText(xs[index] ?? 0, unit), ...parts];
}

export function xText(x: number, unit: 'steps' | 'time' | 'tokens'): string {
  if (unit === 'time') return new Date(x).toISOString().replace('T', ' ').slice(0, 19);
  return unit === 'steps' ? `step ${value(x)}` : `${value(x)} tokens`;
}

/**
 * Columns: x, then for each line its lows, highs and values if it has a band, its raw values if it is
 * smoothed, its values.
 */
function dataOf({ lines, smoothing = 0 }: ChartProps): uPlot.AlignedData {
  const banded = lines.some(({ low }) => low !== undefined);
  const none = (line: Line): Column => line.xs.map(() => null);
  const curves = lines.flatMap((line) => [
    ...(banded
      ? [
          { xs: line.xs, ys: line.low ?? none(line) },
          { xs: line.xs, ys: line.high ?? none(line) },
        ]
      : []),
    ...(smoothing > 0 ? [{ xs: line.xs, ys: line.ys }] : []),
    { xs: line.xs, ys: smoothed(line.ys, smoothing) },
  ]);
  return joined(curves as Line[]) as unknown as uPlot.AlignedData;
}

function showRange(plot: uPlot, { range }: ChartProps): void {
  const xs = plot.data[0];
  const [min, max] = range ?? [xs[0] ?? 0, xs.at(-1) ?? 1];
  plot.setScale('x', min === max ? { min: min - 0.5, max: max + 0.5 } : { min, max });
}

function plotOf(element: HTMLDivElement, latest: { readonly current: ChartProps }): uPlot {
  const { lines, colours, smoothing = 0, unit = 'steps', small = false } = latest.current;
  const style = getComputedStyle(element);
  const colour = (name: string): string => style.getPropertyValue(name).trim();
  const [ink, line, bad] = [colour('--muted'), colour('--line'), colour('--bad')];
  const banded = lines.some(({ low }) => low !== undefined);
  const series: uPlot.Series[] = [{}];
  const bands: uPlot.Band[] = [];
  lines.forEach((_, place) => {
    const stroke = colour(`--s${colours?.[place] ?? place % 6}`);
    if (banded) {
      const pale = { stroke: 'transparent', width: 0, points: { show: false } };
      bands.push({ series: [series.length + 1, series.length], fill: `${stroke}2e` });
      series.push(pale, { ...pale });
    }
    const points = { show: false };
    if (smoothing > 0) series.push({ stroke: `${stroke}55`, width: 1, points });
    series.push({
      stroke,
      width: 2,
      dash: [...strokeOf(place).dash],
      points: { size: 5, fill: stroke },
    });
  });
  const font = `11px ${style.fontFamily}`;
  const axis = { stroke: ink, font, ticks: { show: false }, grid: { stroke: line, width: 1 } };
  const plot = new uPlot(
    {
      width: element.clientWidth,
      height: element.clientHeight,
      legend: { show: false },
      padding: [8, 10, 0, 0],
      scales: { x: { time: unit === 'time' }, y: { range: spanOf } },
      cursor: {
        sync: { key: syncKey, setSeries: false },
        drag: { x: true, y: false, setScale: false },
        points: { size: 7 },
      },
      axes: [
        {
          ...axis,
          grid: { show: false },
          size: 26,
          space: small ? 60 : 70,
          ...(unit === 'time'
            ? {}
            : {
                values: (_: uPlot, splits: number[]) =>
                  splits.map((x) =>
                    Number.isInteger(x)
                      ? (x === splits.find(Number.isInteger)
                          ? `${unit === 'steps' ? 'step' : unit} `
                          : '') + thousands(x)
                      : '',
                  ),
              }),
        },
        { ...axis, size: 52, space: 28, values: (_, splits) => tickTexts(splits) },
      ],
      series,
      bands,
      hooks: {
        draw: [
          (drawn) => {
            drawBroken(drawn, latest.current.broken ?? [], bad);
            drawMarks(drawn, latest.current.marks ?? [], ink);
          },
        ],
        setSelect: [
          (drawn) => {
            const { left, width } = drawn.select;
            if (width < 4) return;
            const range = [drawn.posToVal(left, 'x'), drawn.posToVal(left + width, 'x')] as const;
            drawn.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false);
            if (latest.current.onZoom === undefined)
              drawn.setScale('x', { min: range[0], max: range[1] });
            else latest.current.onZoom(range);
          },
        ],
        setCursor: [(drawn) => showTip(drawn, latest.current)],
      },
    },
    dataOf(latest.current),
    element,
  );
  showRange(plot, latest.current);
  plot.over.addEventListener('dblclick', () => {
    if (latest.current.onZoom === undefined) showRange(plot, { ...latest.current, range: null });
    else latest.current.onZoom(null);
  });
  const tip = document.createElement('div');
  tip.className = 'tip';
  tip.hidden = true;
  plot.over.append(tip);
  return plot;
}

/** A little room above and below; a constant curve is in the middle of its chart. */
function spanOf(_: uPlot, low: number | null, high: number | null): uPlot.Range.MinMax {
  if (low === null || high === null) return [0, 1];
  if (low === 0 && high === 0) return [-0.1, 1];
  const by = (high - low) * 0.08 || Math.abs(high) * 0.2;
  return [low - by, high + by];
}

function showTip(plot: uPlot, props: ChartProps): void {
  const tip = plot.over.querySelector<HTMLElement>('.tip');
  if (tip === null) return;
  const { idx, left } = plot.cursor;
  tip.hidden = idx === null || idx === undefined || (left ?? -1) < 0;
  if (tip.hidden) return;
  tip.textContent = textsAt(idx!, props).join(props.lines.length === 1 ? '  ' : '\n');
  // Beside the cursor, and above or below what the curves do there.
  const { offsetWidth: width, offsetHeight: height } = tip;
  const { clientWidth, clientHeight } = plot.over;
  const from = left! > clientWidth / 2 ? left! - width - 12 : left! + 12;
  const ends = [from - 6, from + width + 6].map((x) => plot.posToIdx(x)) as [number, number];
  const ys = plot.data
    .slice(1)
    .flatMap((column) => [...column].slice(ends[0], ends[1] + 1))
    .flatMap((y) => (y == null ? [] : plot.valToPos(y, 'y')));
  const isAbove = Math.min(clientHeight, ...ys) >= clientHeight - Math.max(0, ...ys);
  tip.style.left = `${from}px`;
  tip.style.top = `${isAbove ? 0 : clientHeight - height}px`;
}

function drawBroken(plot: uPlot, xs: readonly number[], colour: string): void {
  const { ctx, bbox } = plot;
  ctx.fillStyle = colour;
  for (const x of xs) {
    const left = plot.valToPos(x, 'x', true);
    if (left >= bbox.left && left <= bbox.left + bbox.width) {
      ctx.fillRect(
        left - devicePixelRatio,
        bbox.top + bbox.height - 8 * devicePixelRatio,
        2 * devicePixelRatio,
        8 * devicePixelRatio,
      );
    }
  }
}

function drawMarks({ ctx, bbox, valToPos }: uPlot, xs: readonly number[], colour: string): void {
  ctx.save();
  ctx.strokeStyle = colour;
  ctx.globalAlpha = 0.5;
  ctx.setLineDash([2 * devicePixelRatio, 4 * devicePixelRatio]);
  for (const x of xs) {
    const left = valToPos(x, 'x', true);
    if (left < bbox.left || left > bbox.left + bbox.width) continue;
    ctx.beginPath();
    ctx.moveTo(left, bbox.top);
    ctx.lineTo(left, bbox.top + bbox.height);
    ctx.stroke();
  }
  ctx.restore();
}

/** Rows that a table shows; the rest is in the page's data. */
const rowsMax = 200;

function CurveTable({
  lines,
  unit,
}: {
  readonly lines: readonly Line[];
  readonly unit: 'steps' | 'time' | 'tokens';
}) {
  const [xs, ...columns] = joined(lines);
  const from = Math.max(0, xs.length - rowsMax);
  return (
    <Scrolls label="values" class="canvas-table">
      <table>
        <thead>
          <tr>
            <Th>{unit === 'steps' ? 'step' : unit}</Th>
            {lines.map(({ label }) => (
              <Th key={label}>{label}</Th>
            ))}
          </tr>
        </thead>
        <tbody>
          {xs.slice(from).map((x, i) => (
            <tr key={x}>
              <td>{unit === 'time' ? xText(x, unit) : value(x)}</td>
              {columns.map((column, place) => (
                <td key={lines[place]!.label}>{value(column[from + i])}</td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
      {from > 0 && (
        <p class="note">
          the last {rowsMax} of {xs.length} points
        </p>
      )}
    </Scrolls>
  );
}
