/**
 * Which of many points is nearest to a place: a grid of cells, so that a look-up reads a few of
 * them. Pure.
 */
export interface Hits {
  /** Index of the nearest point within `reach`; null if there is none. */
  nearest(x: number, y: number, reach: number): number | null;
  /** Indexes of the points within the box, in order. */
  within(x0: number, y0: number, x1: number, y1: number): readonly number[];
}

/** `xs` and `ys` in pixels. */
export function hitsOf(xs: ArrayLike<number>, ys: ArrayLike<number>, cell = 24): Hits {
  const cells = new Map<string, number[]>();
  const key = (column: number, row: number): string => `${column}:${row}`;
  for (let i = 0; i < xs.length; i++) {
    const at = key(Math.floor(xs[i]! / cell), Math.floor(ys[i]! / cell));
    const list = cells.get(at);
    if (list === undefined) cells.set(at, [i]);
    else list.push(i);
  }
  const inBox = (x0: number, y0: number, x1: number, y1: number): number[] => {
    const found: number[] = [];
    for (let column = Math.floor(x0 / cell); column <= Math.floor(x1 / cell); column++) {
      for (let row = Math.floor(y0 / cell); row <= Math.floor(y1 / cell); row++) {
        for (const i of cells.get(key(column, row)) ?? []) {
          if (xs[i]! >= x0 && xs[i]! <= x1 && ys[i]! >= y0 && ys[i]! <= y1) found.push(i);
        }
      }
    }
    return found.sort((a, b) => a - b);
  };
  return {
    nearest(x, y, reach) {
      let best: number | null = null;
      let distance = reach ** 2;
      for (const i of inBox(x - reach, y - reach, x + reach, y + reach)) {
        const d = (xs[i]! - x) ** 2 + (ys[i]! - y) ** 2;
        if (d <= distance) [best, distance] = [i, d];
      }
      return best;
    },
    within: (x0, y0, x1, y1) =>
      inBox(Math.min(x0, x1), Math.min(y0, y1), Math.max(x0, x1), Math.max(y0, y1)),
  };
}
