/**
 * What every benchmark measures with, and what it prints: a table for people, or with `--json` one JSON
 * object as the last line.
 *
 * A row compares two things measured in the same process on the same machine, so its ratio is meaningful
 * where its numbers are not. A missed goal is printed as missed and is not an error: we cannot control how
 * busy the machine is.
 */
import { mkdirSync, mkdtempSync } from 'node:fs';
import { join } from 'node:path';

export interface Row {
  /** What was measured. */
  readonly what: string;
  /** What it is compared with. */
  readonly against: string;
  /** How many times better ours is than theirs; with `atMost`, ours as a part of the limit. */
  readonly ratio: number;
  /** The ratio to reach, null where none is set. */
  readonly goal: number | null;
  /** The ratio has to stay at or below the goal. */
  readonly atMost?: boolean;
  /** Unit of `ours` and `theirs`. */
  readonly unit: string;
  readonly ours: number;
  readonly theirs: number;
  /** What a reader has to know about this measurement. */
  readonly note?: string;
}

/** A row that could not be measured here. */
export interface Unmeasured {
  readonly what: string;
  readonly against: string;
  readonly reason: string;
}

export function print(name: string, rows: readonly (Row | Unmeasured)[], json: boolean): void {
  console.log(report(name, rows, json));
}

/** What `print` prints: one line of JSON, or the table. */
export function report(name: string, rows: readonly (Row | Unmeasured)[], json: boolean): string {
  return json ? JSON.stringify({ name, rows }) : `\n${name}\n\n${table(rows)}\n`;
}

/** The middle one of an odd number of values. */
export function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[values.length >> 1]!;
}

/** Milliseconds that `work` takes. */
export async function timeMs(work: () => unknown): Promise<number> {
  const startMs = performance.now();
  await work();
  return performance.now() - startMs;
}

/** Times for the same number of records, ours and theirs, as rates of their medians. */
export function recordsPerSecond(
  { what, against, goal = null }: Pick<Row, 'what' | 'against'> & Partial<Pick<Row, 'goal'>>,
  records: number,
  oursMs: readonly number[],
  theirsMs: readonly number[],
): Row {
  const [ours, theirs] = [(1000 * records) / median(oursMs), (1000 * records) / median(theirsMs)];
  return { what, against, ratio: ours / theirs, goal, unit: 'records/s', ours, theirs };
}

/**
 * The slope of the line that fits the points best (least squares), in units of y per unit of x; 0 where x
 * does not vary.
 */
export function slope(points: readonly (readonly [x: number, y: number])[]): number {
  const mean = (at: 0 | 1): number =>
    points.reduce((sum, point) => sum + point[at], 0) / points.length;
  const [x0, y0] = [mean(0), mean(1)];
  const varied = points.reduce((sum, [x]) => sum + (x - x0) ** 2, 0);
  const together = points.reduce((sum, [x, y]) => sum + (x - x0) * (y - y0), 0);
  return varied === 0 ? 0 : together / varied;
}

export const pause = (ms: number): Promise<void> =>
  new Promise((resolve) => setTimeout(resolve, ms));

/**
 * A new folder on the disk of the checkout: a temporary folder may be in memory, where nothing is flushed.
 */
export function folderOnDisk(name: string): string {
  mkdirSync('runs', { recursive: true });
  return mkdtempSync(join('runs', `${name}-`));
}

const HEAD = ['what', 'against', 'ours', 'theirs', 'ratio', 'goal', ''];

function table(rows: readonly (Row | Unmeasured)[]): string {
  const lines = [HEAD, ...rows.map(cells)];
  const widths = HEAD.map((_, column) => Math.max(...lines.map((line) => line[column]!.length)));
  return lines
    .map((line) => line.map((cell, column) => cell.padEnd(widths[column]!)).join('  '))
    .map((line) => line.trimEnd())
    .join('\n');
}

function cells(row: Row | Unmeasured): string[] {
  if ('reason' in row)
    return [row.what, row.against, '-', '-', '-', '-', `not measured: ${row.reason}`];
  const { what, against, unit, ours, theirs, ratio, goal } = row;
  const bound = goal === null ? '-' : `${row.atMost ? '<=' : '>='} ${short(goal)}`;
  const values = [`${short(ours)} ${unit}`, `${short(theirs)} ${unit}`, short(ratio)];
  const said = [outcome(row), row.note ?? ''].filter((part) => part !== '');
  return [what, against, ...values, bound, said.join(', ')];
}

function outcome({ ratio, goal, atMost }: Row): string {
  if (goal === null) return '';
  return (atMost ? ratio <= goal : ratio >= goal) ? 'met' : 'MISSED';
}

/** Three significant digits; thousands in full. */
function short(value: number): string {
  return value >= 1000 ? Math.round(value).toLocaleString('en') : String(+value.toPrecision(3));
}
