/**
 * The form in which the papers release their search caches: one JSON object, query → result text.
 *
 * Imports become `result` entries, which a search uses first; exports are these,
 * and the results of providers as the plain text that a policy read.
 */
import { MillraceError } from '../../../base/index.ts';
import { searchCacheKey } from '../search/searchTool.ts';
import { type PagesOptions, pagesText } from '../web/resultText.ts';
import type { WebResult } from '../web/webResult.ts';
import type { Searched } from '../web/webSearch.ts';
import type { ToolCache } from './toolCache.ts';

/** The result of an import. */
export interface Imported {
  readonly queries: number;
  /** Queries that differ from another only in case and punctuation; the last of them counts. */
  readonly same: number;
}

/** Entries written at once. */
const BATCH = 1000;

/**
 * Imports the queries of a released cache into `cache`. Fails with code `USAGE` on another form; `file` is
 * its name in messages.
 */
export async function importReleased(
  text: string,
  cache: ToolCache,
  file: string,
): Promise<Imported> {
  const entries = Object.entries(parsed(text, file));
  const last = new Map<string, readonly [string, string]>();
  for (const [query, result] of entries) {
    if (typeof result !== 'string') {
      throw notReleased(file, `${JSON.stringify(query.slice(0, 80))} has no text`);
    }
    last.set(searchCacheKey(query), [query, result]);
  }
  const kept = [...last.values()];
  for (let from = 0; from < kept.length; from += BATCH) {
    const puts = kept
      .slice(from, from + BATCH)
      .map(([key, value]) => cache.put({ kind: 'result', scope: '', key }, value));
    await Promise.all(puts);
  }
  return { queries: kept.length, same: entries.length - kept.length };
}

function parsed(text: string, file: string): Readonly<Record<string, unknown>> {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    throw notReleased(file, `it is not JSON (${(error as Error).message})`);
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw notReleased(file, 'it is not an object');
  }
  return value as Readonly<Record<string, unknown>>;
}

function notReleased(file: string, why: string): MillraceError {
  return new MillraceError(
    'USAGE',
    `${file} is not a search cache: ${why}. It must be a JSON object of queries and their result texts, {"query": "Page 1: …"}`,
    { context: { file } },
  );
}

/**
 * The searches of `cache` in the released form, sorted by query. An imported text counts before a provider's
 * results, new before old.
 */
export function exportReleased(cache: ToolCache, options: PagesOptions): string {
  const newest = new Map<
    string,
    { readonly rank: number; readonly pair: readonly [string, string] }
  >();
  for (const { kind, key, value, atMs } of cache.entries()) {
    if (kind !== 'result' && kind !== 'search') continue;
    const rank = kind === 'result' ? Number.POSITIVE_INFINITY : atMs;
    const normal = searchCacheKey(key);
    if (rank < (newest.get(normal)?.rank ?? Number.NEGATIVE_INFINITY)) continue;
    const text = kind === 'result' ? value : pagesText(resultsOf(value), options);
    newest.set(normal, { rank, pair: [key, text] });
  }
  const pairs = [...newest.values()].map(({ pair }) => pair);
  pairs.sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0));
  // Not by assignment: a query may be called __proto__.
  return `${JSON.stringify(Object.fromEntries(pairs), null, 2)}\n`;
}

/** The result that a search cached. */
function resultsOf(value: string): readonly WebResult[] {
  const searched = JSON.parse(value) as Searched;
  return searched.kind === 'found' ? searched.results : [];
}
