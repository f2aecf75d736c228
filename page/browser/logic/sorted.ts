/** Rows in the order of a column, names in natural order (`run-9` before `run-10`). Pure. */

export type Columns<Row> = Readonly<Record<string, (row: Row) => number | string | null>>;

export const naturally = new Intl.Collator('en', { numeric: true }).compare;

/** `-name` = descending. Unknown or none = as they are. What has no value comes last either way. */
export function sortedBy<Row>(
  rows: readonly Row[],
  columns: Columns<Row>,
  sort: string,
): readonly Row[] {
  const down = sort.startsWith('-');
  const of = Object.hasOwn(columns, sort.slice(down ? 1 : 0))
    ? columns[sort.slice(down ? 1 : 0)]
    : undefined;
  if (of === undefined) return rows;
  return [...rows].sort((a, b) => {
    const [x, y] = [of(a), of(b)];
    if (x === null || y === null) return Number(x === null) - Number(y === null);
    const order =
      typeof x === 'number' && typeof y === 'number' ? x - y : naturally(String(x), String(y));
    return down ? -order : order;
  });
}
