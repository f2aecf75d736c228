/**
 * `search`: BM25+ over documents in memory (minisearch), title and text.
 *
 * The order is by score, ties by the order of the documents, so that the same query gives the same result
 * on every machine.
 */
import MiniSearch from 'minisearch';
import { isSpace, strip } from '../../text/characters.ts';
import { outputText } from '../outputText.ts';
import type { Tool } from '../tool.ts';

/** A document that can be found; title and text are both searched. */
export interface SearchDocument {
  /** Unique among the documents. */
  readonly id: string;
  readonly title: string;
  readonly text: string;
}

/** A found document as the result text shows it: `place` from 1, `text` cut. */
export interface Found {
  readonly place: number;
  readonly document: SearchDocument;
  readonly text: string;
}

/** The documents, and how to write a result. */
export interface SearchOptions {
  readonly documents: Iterable<SearchDocument>;
  /** Limit of documents in a result (default 4). */
  readonly top?: number;
  /** Limit of code points of a document in a result; a longer one is cut and ends in `...` (default 1200). */
  readonly charactersMax?: number;
  /**
   * The result's text (default: `Page 1: <text>`, a line a document; ET-Agent reference, plain formatter).
   */
  readonly format?: (found: readonly Found[]) => string;
}

const NOTHING = 'No search results found.';
const EMPTY = 'invalid query';
/** Limit of UTF-16 units of a query. */
const QUERY_MAX = 2000;

/** `Page {place}: {text}` joined by newlines. */
export function asPages(found: readonly Pick<Found, 'place' | 'text'>[]): string {
  return found.map(({ place, text }) => `Page ${place}: ${text}`).join('\n');
}

function positive(name: string, value: number): number {
  if (Number.isInteger(value) && value >= 1) return value;
  throw new RangeError(`search: ${name} is ${value}; give a whole number, 1 or more`);
}

function indexOf(documents: readonly SearchDocument[]): MiniSearch {
  const index = new MiniSearch({ fields: ['title', 'text'], idField: 'place' });
  index.addAll(documents.map(({ title, text }, place) => ({ place, title, text })));
  return index;
}

function unique(documents: readonly SearchDocument[]): void {
  const ids = new Set<string>();
  for (const { id } of documents) {
    if (ids.has(id)) throw new Error(`search: two documents have the id ${JSON.stringify(id)}`);
    ids.add(id);
  }
}

/**
 * The search tool. Documents are read and indexed here, once.
 *
 * @example
 * searchTool({ documents: await readCorpus('corpus.jsonl'), top: 1 })
 */
export function searchTool(options: SearchOptions): Tool {
  const top = positive('top', options.top ?? 4);
  const charactersMax = positive('charactersMax', options.charactersMax ?? 1200);
  const format = options.format ?? asPages;
  const documents = [...options.documents];
  unique(documents);
  const index = indexOf(documents);

  function find(query: string): readonly Found[] {
    const hits = index.search(query).sort((a, b) => b.score - a.score || a.id - b.id);
    return hits.slice(0, top).map((hit, i) => {
      const document = documents[hit.id]!;
      return { place: i + 1, document, text: outputText(document.text, charactersMax) };
    });
  }

  return {
    name: 'search',
    about: 'Finds the documents that match a query best and gives their text.',
    concurrencyMax: 64,
    pure: true,
    async run(input) {
      const query = input.trim().slice(0, QUERY_MAX);
      if (query === '') return { output: EMPTY, ok: false };
      const found = find(query);
      return { output: found.length === 0 ? NOTHING : format(found), ok: true };
    },
    close: async () => undefined,
  };
}

/**
 * The normal form of a query (ET-Agent reference, search cache key), for `callTools`' `cacheKey`: queries
 * that differ in case or punctuation alone share a cached result. `' What is "New-York"?  '` becomes `'what
 * is newyork'`; white space and word characters are Python's.
 */
export function searchCacheKey(query: string): string {
  return strip(query)
    .toLowerCase()
    .replace(/[^\p{L}\p{N}_]/gu, (character) => (isSpace(character) ? character : ''));
}
