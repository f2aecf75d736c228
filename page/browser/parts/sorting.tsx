/** Tables that are sorted by a click on a column's head; the address says how: `sort=-reward`. */
import type { ComponentChildren } from 'preact';
import { query, setQuery } from '../data/place.ts';
import { type Columns, sortedBy } from '../logic/sorted.ts';

export function sorted<Row>(rows: readonly Row[], columns: Columns<Row>): readonly Row[] {
  return sortedBy(rows, columns, query.value.sort ?? '');
}

export function SortTh({
  by,
  left = false,
  children,
}: {
  readonly by: string;
  readonly left?: boolean;
  readonly children: ComponentChildren;
}) {
  const now = query.value.sort;
  const way = now === by ? 'ascending' : now === `-${by}` ? 'descending' : undefined;
  // Numbers are wanted largest first, names from A; a third click leaves the order as it was.
  const order = left ? [by, `-${by}`, undefined] : [`-${by}`, by, undefined];
  return (
    <th class={left ? 'l' : undefined} scope="col" aria-sort={way}>
      <button
        type="button"
        class="quiet sort"
        onClick={() => setQuery({ sort: order[now === undefined ? 0 : order.indexOf(now) + 1] })}
      >
        {children}
        {way === undefined ? '' : way === 'ascending' ? ' ↑' : ' ↓'}
      </button>
    </th>
  );
}
