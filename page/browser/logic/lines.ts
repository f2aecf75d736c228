/**
 * Curves as uPlot takes them: one ascending x for all, gaps where a curve has no value, colours and dashes by
 * place. Pure.
 */

export interface Line {
  readonly label: string;
  readonly xs: readonly number[];
  /** null = nothing there; what is not finite is counted by the caller. */
  readonly ys: readonly (number | null)[];
  /** Lowest and highest value at each point, if a point stands for several. */
  readonly low?: readonly (number | null)[] | undefined;
  readonly high?: readonly (number | null)[] | undefined;
}

/** How many are drawn in one chart at most. */
export const linesMax = 8;
export const pointsMax = 1600;

/** Number of the colour, and dashes in pixels; beyond six lines colours come again with another dash. */
export interface Stroke {
  readonly colour: number;
  readonly dash: readonly number[];
}

const dashes: readonly (readonly number[])[] = [
  [],
  [7, 3],
  [2, 3],
  [9, 3, 2, 3],
  [4, 4],
  [12, 4],
  [1, 5],
  [6, 2, 2, 2, 2, 2],
];

export function strokeOf(place: number): Stroke {
  return { colour: place % 6, dash: dashes[place % dashes.length]! };
}

/** A number that a name always has, so that a run has one colour on every page: FNV-1a. */
export function colourOf(name: string): number {
  let hash = 0x811c9dc5;
  for (let i = 0; i < name.length; i++) hash = Math.imul(hash ^ name.charCodeAt(i), 0x01000193);
  return (hash >>> 0) % 6;
}

export type Column = (number | null | undefined)[];

/**
 * The colours of runs that are shown together: where two would have the same, the one whose name comes later
 * takes the next that is free, in whatever order they stand.
 */
export function coloursOf(runs: readonly string[]): readonly number[] {
  const colours = new Map<string, number>();
  for (const run of [...runs].sort()) {
    let colour = colourOf(run);
    const taken = new Set(colours.values());
    for (let tries = 0; taken.has(colour) && tries < 6; tries++) colour = (colour + 1) % 6;
    colours.set(run, colour);
  }
  return runs.map((run) => colours.get(run)!);
}

/**
 * x and one column a curve, over all x that any of them has; `undefined` = this curve has no point there,
 * `null` = a gap.
 */
export function joined(
  curves: readonly { readonly xs: readonly number[]; readonly ys: readonly (number | null)[] }[],
): readonly [number[], ...Column[]] {
  const [first] = curves;
  if (first === undefined) return [[]];
  if (curves.every(({ xs }) => xs === first.xs)) {
    return [[...first.xs], ...curves.map(({ ys }) => [...ys])];
  }
  const all = [...new Set(curves.flatMap(({ xs }) => xs))].sort((a, b) => a - b);
  const place = new Map(all.map((x, i) => [x, i]));
  return [
    all,
    ...curves.map(({ xs, ys }) => {
      const column: Column = new Array(all.length).fill(undefined);
      xs.forEach((x, i) => {
        column[place.get(x)!] = ys[i]!;
      });
      return column;
    }),
  ];
}
