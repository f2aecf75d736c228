/**
 * A search tool over a corpus in memory: BM25+ by minisearch, the best documents as `Page i: …` lines (ET-Agent
 * §2.4, the plain form).
 *
 * Deterministic: equal scores follow the order of the corpus. A title counts twice as much as the text.
 */
import MiniSearch from 'minisearch';
import type { Document } from './corpus.ts';
import type { Tool } from './tool.ts';

export interface SearchOptions {
  readonly documents: Iterable<Document>;
  /** Documents returned. */
  readonly top?: number;
  /** Cut of each document, in code points. */
  readonly charactersMax?: number;
}

export const NOTHING_FOUND = 'No search results found.';

function cut(text: string, charactersMax: number): string {
  return [...text].slice(0, charactersMax).join('');
}

export function searchTool({ documents, top = 4, charactersMax = 1200 }: SearchOptions): Tool {
  const all = [...documents];
  const index = new MiniSearch<{ id: number; title: string; text: string }>({
    fields: ['title', 'text'],
    searchOptions: { boost: { title: 2 } },
  });
  index.addAll(all.map(({ title, text }, id) => ({ id, title, text })));
  return {
    name: 'search',
    about: `searches ${all.length} documents by their words`,
    concurrencyMax: 1,
    pure: true,
    async run(query) {
      const found = index
        .search(query)
        .sort((a, b) => b.score - a.score || Number(a.id) - Number(b.id))
        .slice(0, top);
      if (found.length === 0) return { output: NOTHING_FOUND, ok: true };
      const pages = found.map(
        ({ id }, i) => `Page ${i + 1}: ${cut(all[Number(id)]!.text, charactersMax)}`,
      );
      return { output: pages.join('\n'), ok: true };
    },
    async close() {},
  };
}
