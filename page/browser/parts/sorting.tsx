/**
 * Tables that are sorted by a click on a column's head; the address says how: `sort=-reward`. Of a long one
 * there are as many rows as were scrolled to.
 */
import type { ComponentChildren } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { query, setQuery } from '../data/place.ts';
import { type Columns, sortedBy } from '../logic/sorted.ts';
import { About } from './About.tsx';

export function sorted<Row>(rows: readonly Row[], columns: Columns<Row>): readonly Row[] {
  return sortedBy(rows, columns, query.value.sort ?? '');
}

export function SortTh({
  by,
  left = false,
  about,
  children,
}: {
  readonly by: string;
  readonly left?: boolean;
  /** The metric that says what it is. */
  readonly about?: string;
  readonly children: ComponentChildren;
}) {
  const now = query.value.sort;
  const way = now === by ? 'ascending' : now === `-${by}` ? 'descending' : undefined;
  // Numbers are wanted largest first, names from A; a third click leaves the order as it was.
  const order = left ? [by, `-${by}`, undefined] : [`-${by}`, by, undefined];
  return (
    <th class={left ? 'l' : undefined} scope="col" aria-sort={way}>
      <span class="with-copy">
        <button
          type="button"
          class="quiet sort"
          onClick={() => setQuery({ sort: order[now === undefined ? 0 : order.indexOf(now) + 1] })}
        >
          {children}
          {way === undefined ? '' : way === 'ascending' ? ' ↑' : ' ↓'}
        </button>
        {about !== undefined && <About name={about} />}
      </span>
    </th>
  );
}

const first = 50;

/** The rows that are drawn, and what stands behind them: once that is near, more are. */
export function useRows<Row>(
  rows: readonly Row[],
): readonly [shown: readonly Row[], more: ComponentChildren] {
  const [most, setMost] = useState(first);
  const end = useRef<HTMLParagraphElement>(null);
  const left = rows.length - most;
  useEffect(() => setMost(first), [query.value.sort]);
  useEffect(() => {
    if (end.current === null) return;
    const seen = new IntersectionObserver(
      ([entry]) => entry!.isIntersecting && setMost(most + 2 * first),
      { rootMargin: '600px' },
    );
    seen.observe(end.current);
    return () => seen.disconnect();
  }, [most, left > 0]);
  return [
    rows.slice(0, most),
    left > 0 && (
      <p class="note padded" ref={end}>
        {left} more
      </p>
    ),
  ];
}
