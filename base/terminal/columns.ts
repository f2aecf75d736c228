/** A table as data: built once, shown as text or as HTML. */

export interface Table {
  readonly columns: readonly Column[];
  readonly rows: readonly (readonly string[])[];
}

export interface Column {
  readonly label: string;
  /** Right-aligned, for numbers. */
  readonly align: 'left' | 'right';
  /** If the table is too wide, the column with the highest number is dropped first; left out = it stays. */
  readonly drop?: number;
}

/**
 * The first `names` columns are names, left-aligned; the others are numbers. `drops` = `Column.drop`, by
 * label.
 */
export function columns(
  labels: readonly string[],
  names = 1,
  drops: Readonly<Record<string, number>> = {},
): Column[] {
  return labels.map((label, i) => ({
    label,
    align: i < names ? 'left' : 'right',
    ...(drops[label] === undefined ? {} : { drop: drops[label] }),
  }));
}

/** The table without the columns of these numbers. */
export function withoutColumns({ columns, rows }: Table, gone: ReadonlySet<number>): Table {
  const kept = <T>(cells: readonly T[]): T[] => cells.filter((_, i) => !gone.has(i));
  return { columns: kept(columns), rows: rows.map(kept) };
}
