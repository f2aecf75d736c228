/** Rows as columns of text, two spaces between; the first row is the head. */
import type { Column, Table } from '../tables/table.ts';
import { terminalText } from './terminalText.ts';

export type Alignment = Column['align'];

/** Columns without an alignment go left. What stands in a cell may come from a record. */
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
      .join('  ')
      .trimEnd(),
  );
  return lines.join('\n');
}

export function textTable({ columns, rows }: Table): string {
  return table(
    [columns.map(({ label }) => label), ...rows],
    columns.map(({ align }) => align),
  );
}
