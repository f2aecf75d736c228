/**
 * The index by key of a topic, on disk: runs of entries (`entries.ts`), each of the records from one offset
 * to another.
 *
 * A record outside every run (the last records of a topic, those of an older millrace, a run whose page was
 * changed) is not an error: it has to be read. So an index can be incomplete but never wrong.
 */
import { hasCode } from '../../../base/index.ts';
import type { LogStore, Writes } from '../store.ts';
import { entriesIn, hashOf, isWhole, pageOf, placesOf, type Run, sealPages } from './entries.ts';

/** Runs of a topic in order; null if what the log says about them was changed. */
export function runsOf(store: LogStore, topic: string): readonly Run[] | null {
  try {
    return store.runs(topic);
  } catch (error) {
    if (hasCode(error, 'DAMAGED')) return null;
    throw error;
  }
}

/** Writes the pages of a run; the entries, whose places count from its first record, need no order. */
export function writeRun(
  writes: Writes,
  topic: string,
  { from, to, level }: Omit<Run, 'pages'>,
  entries: Float64Array,
): Run {
  const pages = sealPages(entries.sort(), (page) => nameOf(topic, from, to, page));
  for (const [page, bytes] of pages.entries()) writes.putKeys(topic, from, page, bytes);
  return { from, to, level, pages: pages.length };
}

export function removeRun(writes: Writes, topic: string, { from, pages }: Run): void {
  for (let page = 0; page < pages; page++) writes.removeKeys(topic, from, page);
}

/** The entries of a run, page by page; null if one is not as it was written. */
export function entriesOf(
  store: LogStore,
  topic: string,
  run: Run,
): readonly Float64Array[] | null {
  const pages: Float64Array[] = [];
  for (let page = 0; page < run.pages; page++) {
    const bytes = pageIn(store, topic, run, page);
    if (bytes === null) return null;
    pages.push(entriesIn(bytes));
  }
  return pages;
}

/**
 * Offsets, in order, of the records of a run that may have one of these names; null if the run cannot say.
 */
export function hitsIn(
  store: LogStore,
  topic: string,
  run: Run,
  names: readonly string[],
): readonly number[] | null {
  const hits = new Set<number>();
  for (const hash of new Set(names.map(hashOf))) {
    const bytes = pageIn(store, topic, run, pageOf(hash, run.pages));
    if (bytes === null) return null;
    for (const place of placesOf(bytes, hash)) hits.add(run.from + place);
  }
  return [...hits].sort((a, b) => a - b);
}

function pageIn(store: LogStore, topic: string, { from, to }: Run, page: number): Buffer | null {
  const bytes = store.keys(topic, from, page);
  return bytes !== undefined && isWhole(bytes, nameOf(topic, from, to, page)) ? bytes : null;
}

function nameOf(topic: string, from: number, to: number, page: number): string {
  return `${topic}/${from}-${to}/${page}`;
}
