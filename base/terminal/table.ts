/** Rows as columns of text, two spaces between; the first row is the head. */

import { terminalText } from '../text/index.ts';
import { type Column, type Table, withoutColumns } from './columns.ts';

/** Between two columns. */
const GAP = 2;

export type Alignment = Column['align'];

/** Columns without an alignment are left-aligned. A cell's text may come from a record. */
export function table(
  given: readonly (readonly string[])[],
  alignments: readonly Alignment[],
): string {
  const rows = given.map((row) => row.map(terminalText));
  const columns = Math.max(0, ...rows.map((row) => row.length));
  const widths = Array.from({ length: columns }, (_, column) =>
    Math.max(...rows.map((row) => (row[column] ?? '').length)),
  );
  const lines = rows.map((row) =>
    widths
      .map((width, column) => {
        const cell = row[column] ?? '';
        return alignments[column] === 'right' ? cell.padStart(width) : cell.padEnd(width);
      })
      .join(' '.repeat(GAP))
      .trimEnd(),
  );
  return lines.join('\n');
}

/** `columns` = characters per line; optional columns of the table are left out if it would be wider. */
export function textTable(whole: Table, columns = Number.POSITIVE_INFINITY): string {
  const { columns: heads, rows } = fitting(whole, columns);
  return table(
    [heads.map(({ label }) => label), ...rows],
    heads.map(({ align }) => align),
  );
}

function fitting(whole: Table, width: number): Table {
  const widths = whole.columns.map(({ label }, column) =>
    Math.max(label.length, ...whole.rows.map((row) => (row[column] ?? '').length)),
  );
  const dropped = whole.columns
    .flatMap(({ drop }, i) => (drop === undefined ? [] : [{ i, drop }]))
    .sort((a, b) => b.drop - a.drop);
  const gone = new Set<number>();
  const used = (): number =>
    widths.reduce((sum, one, i) => (gone.has(i) ? sum : sum + one + GAP), -GAP);
  for (const { i } of dropped) {
    if (used() <= width) break;
    gone.add(i);
  }
  return withoutColumns(whole, gone);
}
