/**
 * The text of a search's result, as the papers write it.
 *
 * `pages` (ARPO's and ET-Agent's plain form): the snippets, each once, numbered and cut, one per line.
 * `records` (their deep search): each result as JSON with what its page says around the snippet. Lengths are
 * in code points.
 */
import { cutCodePoints, firstCodePoints, strip } from '../../text/characters.ts';
import type { WebResult } from './webResult.ts';

/** The text of a search that found nothing. */
export const NOTHING_FOUND = 'No search results found.';

/** How much of the results to show. */
export interface PagesOptions {
  /** Limit of results. */
  readonly top: number;
  /** Limit of code points of a snippet. */
  readonly charactersMax: number;
}

/** One line `Page 1: …` per result; `NOTHING_FOUND` if no result has a snippet. */
export function pagesText(results: readonly WebResult[], options: PagesOptions): string {
  const { top, charactersMax } = options;
  const snippets = results.map(({ snippet }) => strip(snippet)).filter((snippet) => snippet !== '');
  const shown = [...new Set(snippets)].slice(0, top);
  if (shown.length === 0) return NOTHING_FOUND;
  return shown
    .map((snippet, place) => `Page ${place + 1}: ${firstCodePoints(snippet, charactersMax)}`)
    .join('\n');
}

/** A result with what its page says around the snippet. */
export interface ResultInContext extends WebResult {
  readonly context: string;
}

/**
 * `**Web Page 1:**` and the record of each result, cut to `charactersMax` followed by `...` if it is longer.
 */
export function recordsText(results: readonly ResultInContext[], charactersMax: number): string {
  if (results.length === 0) return NOTHING_FOUND;
  const texts = results.map(({ title, url, siteName, date, snippet, context }, place) => {
    const record = { id: place + 1, title, url, site_name: siteName, date, snippet, context };
    return `**Web Page ${place + 1}:**\n${JSON.stringify(record, null, 2)}\n`;
  });
  return cutCodePoints(strip(texts.join('')), charactersMax);
}
