/** The frame of a scatter: from values to pixels and back. Pure. */
export interface Frame {
  readonly left: number;
  readonly right: number;
  readonly top: number;
  readonly bottom: number;
  readonly xLow: number;
  readonly xHigh: number;
  readonly yLow: number;
  readonly yHigh: number;
  x(value: number): number;
  y(value: number): number;
}

export function frameOf(
  points: readonly { readonly x: number; readonly y: number }[],
  width: number,
  height: number,
): Frame {
  const [xLow, xHigh] = spread(points.map(({ x }) => x));
  const [yLow, yHigh] = spread(points.map(({ y }) => y));
  const [left, right, top, bottom] = [46, Math.max(60, width - 16), 24, Math.max(40, height - 36)];
  return {
    left,
    right,
    top,
    bottom,
    xLow,
    xHigh,
    yLow,
    yHigh,
    x: (value) => left + ((value - xLow) / (xHigh - xLow)) * (right - left),
    y: (value) => bottom - ((value - yLow) / (yHigh - yLow)) * (bottom - top),
  };
}

/** A little more than the data, so that no point is on the edge. */
function spread(values: readonly number[]): readonly [number, number] {
  let [low, high] = [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY];
  for (const value of values) {
    low = Math.min(low, value);
    high = Math.max(high, value);
  }
  if (low > high) return [0, 1];
  const by = (high - low || Math.abs(high) || 1) * 0.06;
  return [low - by, high + by];
}

/**
 * Groups often have the very same values: those that share a pixel are laid around it in a spiral, so that
 * their number can be seen. Changes the columns; deterministic.
 */
export function jittered(xs: Float32Array, ys: Float32Array): void {
  const seen = new Map<string, number>();
  const golden = Math.PI * (3 - Math.sqrt(5));
  for (let i = 0; i < xs.length; i++) {
    const key = `${Math.round(xs[i]!)}:${Math.round(ys[i]!)}`;
    const place = seen.get(key) ?? 0;
    seen.set(key, place + 1);
    if (place === 0) continue;
    const radius = Math.min(26, 4.2 * Math.sqrt(place));
    xs[i]! += radius * Math.cos(place * golden);
    ys[i]! += radius * Math.sin(place * golden);
  }
}

/**
 * The edge of what a front is better than, from the left of the frame to its bottom, in steps: more is better
 * on both axes. In pixels.
 */
export function frontLine(
  points: readonly { readonly x: number; readonly y: number }[],
  { left, bottom }: Pick<Frame, 'left' | 'bottom'>,
): readonly { readonly x: number; readonly y: number }[] {
  const sorted = [...points].sort((a, b) => a.x - b.x || a.y - b.y);
  let x = left;
  const line = sorted.flatMap((point) => {
    const from = { x, y: point.y };
    x = point.x;
    return [from, point];
  });
  return [...line, { x, y: bottom }];
}
