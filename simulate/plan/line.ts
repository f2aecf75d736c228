/** A straight line: least squares over weighted points. Neither of its numbers is below 0. */
export interface Line {
  readonly at0: number;
  readonly slope: number;
}

export interface Point {
  readonly x: number;
  readonly y: number;
  readonly weight?: number;
}

export function line(points: readonly Point[]): Line {
  const all = sum(points.map(({ weight = 1 }) => weight));
  const mean = (value: (point: Point) => number): number =>
    all === 0 ? 0 : sum(points.map((point) => (point.weight ?? 1) * value(point))) / all;
  const [x0, y0] = [mean(({ x }) => x), mean(({ y }) => y)];
  const varied = mean(({ x }) => (x - x0) ** 2);
  const together = mean(({ x, y }) => (x - x0) * (y - y0));
  // If nothing varies, everything is proportional.
  if (varied < 1e-6 * x0 * x0) return { at0: 0, slope: y0 / x0 };
  const slope = Math.max(0, together / varied);
  const at0 = y0 - slope * x0;
  return at0 >= 0 ? { at0, slope } : { at0: 0, slope: y0 / x0 };
}

function sum(values: readonly number[]): number {
  return values.reduce((all, one) => all + one, 0);
}
