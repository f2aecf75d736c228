/**
 * Points on a canvas of our own: groups by two objectives, those that were kept filled, fronts as lines.
 * Hover and arrow keys name a point, a click opens it, dragging chooses several.
 */
import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import { ticks } from '../../../summary/format/index.ts';
import type { ParetoPoint } from '../../wire/index.ts';
import { value } from '../logic/format.ts';
import { type Hits, hitsOf } from '../logic/hits.ts';
import { type Frame, frameOf, frontLine, jittered } from '../logic/scatterFrame.ts';
import { appearance } from './appearance.ts';
import { penOf } from './pen.ts';

export interface ScatterProps {
  readonly points: readonly ParetoPoint[];
  readonly xLabel: string;
  readonly yLabel: string;
  readonly summary: string;
  /** The front whose line is drawn strong; null = all alike. */
  readonly front: number | null;
  /** Whether lines join the fronts. */
  readonly withFronts: boolean;
  readonly onOpen: (point: ParetoPoint) => void;
  readonly onChoose: (points: readonly ParetoPoint[]) => void;
}

interface Drawn {
  readonly frame: Frame;
  readonly xs: Float32Array;
  readonly ys: Float32Array;
  readonly hits: Hits;
}

export function Scatter(props: ScatterProps) {
  const { points, summary, onOpen, onChoose } = props;
  const canvas = useRef<HTMLCanvasElement>(null);
  const [size, setSize] = useState({ width: 0, height: 0 });
  const [over, setOver] = useState<number | null>(null);
  const drag = useRef<{ readonly x: number; readonly y: number } | null>(null);
  const [boxed, setBoxed] = useState<readonly [number, number, number, number] | null>(null);
  useEffect(() => {
    const element = canvas.current!;
    const sized = new ResizeObserver(() =>
      setSize({ width: element.clientWidth, height: element.clientHeight }),
    );
    sized.observe(element);
    return () => sized.disconnect();
  }, []);
  const drawn = useMemo((): Drawn => {
    const frame = frameOf(points, size.width, size.height);
    const xs = Float32Array.from(points, (point) => frame.x(point.x));
    const ys = Float32Array.from(points, (point) => frame.y(point.y));
    jittered(xs, ys);
    return { frame, xs, ys, hits: hitsOf(xs, ys) };
  }, [points, size.width, size.height]);
  const scheme = appearance.value;
  useEffect(() => {
    if (size.width > 0) draw(canvas.current!, props, drawn, over, boxed);
  }, [drawn, over, boxed, props.front, props.xLabel, props.yLabel, scheme]);

  const at = (event: PointerEvent): { readonly x: number; readonly y: number } => {
    const box = canvas.current!.getBoundingClientRect();
    return { x: event.clientX - box.left, y: event.clientY - box.top };
  };
  // In the order of x, so that arrow keys go from left to right.
  const order = useMemo(
    () =>
      points
        .map((_, i) => i)
        .sort((a, b) => points[a]!.x - points[b]!.x || points[a]!.y - points[b]!.y),
    [points],
  );
  const onKey = (event: KeyboardEvent): void => {
    const by = { ArrowLeft: -1, ArrowRight: 1, ArrowUp: 1, ArrowDown: -1 }[event.key];
    if (by !== undefined) {
      event.preventDefault();
      const place = over === null ? -1 : order.indexOf(over);
      setOver(order[Math.max(0, Math.min(order.length - 1, place + by))] ?? null);
    } else if (event.key === 'Enter' && over !== null) onOpen(points[over]!);
  };
  const point = over === null ? undefined : points[over];
  return (
    <div class="scatter">
      <canvas
        ref={canvas}
        role="img"
        tabIndex={0}
        aria-label={summary}
        onPointerMove={(event) => {
          const { x, y } = at(event);
          if (drag.current !== null) setBoxed([drag.current.x, drag.current.y, x, y]);
          else setOver(drawn.hits.nearest(x, y, 14));
        }}
        onPointerLeave={() => setOver(null)}
        onPointerCancel={() => {
          drag.current = null;
          setBoxed(null);
        }}
        onPointerDown={(event) => {
          drag.current = at(event);
          canvas.current!.setPointerCapture(event.pointerId);
        }}
        onPointerUp={(event) => {
          const [from, to] = [drag.current, at(event)];
          drag.current = null;
          setBoxed(null);
          if (from === null) return;
          if (Math.hypot(to.x - from.x, to.y - from.y) < 6) {
            const hit = drawn.hits.nearest(to.x, to.y, 14);
            if (hit !== null) onOpen(points[hit]!);
            return;
          }
          onChoose(drawn.hits.within(from.x, from.y, to.x, to.y).map((i) => points[i]!));
        }}
        onKeyDown={onKey}
      />
      <p class="scatter-tip" aria-live="polite">
        {point === undefined ? (
          <span class="muted">
            Point at a group for its name, click to open it, drag to list several.
          </span>
        ) : (
          <>
            <b>{point.question}</b>{' '}
            <span class="num">
              {props.xLabel} {value(point.x)}, {props.yLabel} {value(point.y)}
            </span>{' '}
            <span class="muted">
              front {point.front}, {point.kept ? 'kept' : point.verdict}
            </span>
          </>
        )}
      </p>
    </div>
  );
}

function draw(
  canvas: HTMLCanvasElement,
  { points, xLabel, yLabel, front, withFronts }: ScatterProps,
  { frame, xs, ys }: Drawn,
  over: number | null,
  boxed: readonly [number, number, number, number] | null,
): void {
  const { pen, height, colour, font } = penOf(canvas);
  const { left, right, top, bottom } = frame;
  pen.font = font;
  pen.lineWidth = 1;
  pen.strokeStyle = colour('--line');
  pen.fillStyle = colour('--muted');
  pen.textAlign = 'right';
  for (const y of ticks(frame.yLow, frame.yHigh)) {
    if (y < frame.yLow - 1e-9 || y > frame.yHigh + 1e-9) continue;
    const at = Math.round(frame.y(y)) + 0.5;
    pen.beginPath();
    pen.moveTo(left, at);
    pen.lineTo(right, at);
    pen.stroke();
    pen.fillText(value(y), left - 8, at + 4);
  }
  pen.textAlign = 'center';
  for (const x of ticks(frame.xLow, frame.xHigh, right - left > 600 ? 8 : 4)) {
    if (x < frame.xLow - 1e-9 || x > frame.xHigh + 1e-9) continue;
    pen.fillText(value(x), frame.x(x), bottom + 18);
  }
  pen.textAlign = 'right';
  pen.fillText(`${xLabel} →`, right, height - 4);
  pen.textAlign = 'left';
  pen.fillText(`↑ ${yLabel}`, 4, 12);
  pen.save();
  pen.beginPath();
  pen.rect(left - 8, top - 8, right - left + 16, bottom - top + 16);
  pen.clip();
  const all = withFronts ? [...new Set(points.map((point) => point.front))] : [];
  const names: (readonly [text: string, y: number])[] = [];
  const fronts = all.sort((a, b) => a - b).slice(0, 4);
  fronts.forEach((one, place) => {
    const line = frontLine(
      points.flatMap((point) =>
        point.front === one ? [{ x: frame.x(point.x), y: frame.y(point.y) }] : [],
      ),
      frame,
    );
    const { y } = line[0]!;
    // Where two begin at one place, the first is named.
    if (y - (names.at(-1)?.[1] ?? -1e9) > 12) names.push([`front ${one}`, y]);
    pen.strokeStyle = colour(
      front === one || (front === null && place === 0) ? '--s3' : '--strong',
    );
    pen.lineWidth = front === one || (front === null && place === 0) ? 2 : 1;
    pen.setLineDash(place === 0 ? [] : [4, 3]);
    pen.beginPath();
    line.forEach(({ x, y }, i) => {
      if (i === 0) pen.moveTo(x, y);
      else pen.lineTo(x, y);
    });
    pen.stroke();
  });
  pen.setLineDash([]);
  const radius = points.length > 2000 ? 2.5 : 4;
  // Rejected ones first, so that the kept ones are on top.
  for (const kept of [false, true]) {
    pen.fillStyle = kept ? colour('--s0') : colour('--card');
    pen.strokeStyle = kept ? colour('--card') : colour('--muted');
    pen.lineWidth = 1;
    points.forEach((point, i) => {
      if (point.kept !== kept) return;
      const faint = front !== null && point.front !== front;
      pen.globalAlpha = faint ? 0.25 : 1;
      pen.beginPath();
      pen.arc(xs[i]!, ys[i]!, radius, 0, 2 * Math.PI);
      pen.fill();
      pen.stroke();
    });
  }
  pen.globalAlpha = 1;
  // Over the points, on a ground of their own.
  pen.fillStyle = colour('--muted');
  pen.strokeStyle = colour('--card');
  pen.lineWidth = 4;
  for (const [text, y] of names) {
    pen.strokeText(text, left + 4, y - 8);
    pen.fillText(text, left + 4, y - 8);
  }
  if (over !== null && xs[over] !== undefined) {
    pen.strokeStyle = colour('--ink');
    pen.lineWidth = 2;
    pen.beginPath();
    pen.arc(xs[over]!, ys[over]!, radius + 4, 0, 2 * Math.PI);
    pen.stroke();
  }
  if (boxed !== null) {
    pen.strokeStyle = colour('--accent');
    pen.setLineDash([4, 3]);
    pen.strokeRect(boxed[0], boxed[1], boxed[2] - boxed[0], boxed[3] - boxed[1]);
    pen.setLineDash([]);
  }
  pen.restore();
}
