/**
 * `search` over a retriever: the passages as the papers' local search shows them, or as its web search shows
 * pages.
 *
 * Passages are text that anyone may have written: what no reader sees is left out of them, and the dialect
 * fences the rest.
 */
import { hasCode, raceAbort } from '../../../base/index.ts';
import { strip } from '../../text/characters.ts';
import { outputText } from '../outputText.ts';
import { asPages } from '../search/searchTool.ts';
import type { Tool } from '../tool.ts';
import { NOTHING_FOUND } from '../web/resultText.ts';
import { webText } from '../web/webText.ts';
import type { Asks } from './remoteRetriever.ts';
import type { Hit } from './retriever.ts';
import { QUERY_MAX } from './wire.ts';

/**
 * `documents`: the passages with a blank line between (the papers' local search). `pages`: `Page 1: …`, a
 * line a passage.
 */
export const passageForms = ['documents', 'pages'] as const;
/** One of `passageForms`. */
export type PassageForm = (typeof passageForms)[number];

/** How to show the passages of a search. */
export interface RetrieverToolOptions {
  /** The tool owns it. */
  readonly retriever: Asks;
  readonly top: number;
  /** Limit of code points of a passage; a longer one is cut and ends in `...`. */
  readonly charactersMax: number;
  readonly form: PassageForm;
  readonly concurrencyMax: number;
}

const INVALID = 'invalid query';
const PASSAGE_MAX = 100_000;

/** The tool that asks a retriever. */
export function retrieverTool(options: RetrieverToolOptions): Tool {
  const { retriever, top, charactersMax, form, concurrencyMax } = options;
  return {
    name: 'search',
    about: 'Finds the passages that match a query best and gives their text.',
    concurrencyMax,
    pure: true,
    async run(input, signal) {
      const query = strip(input).slice(0, QUERY_MAX);
      if (query === '') return { output: INVALID, ok: false };
      try {
        const [hits = []] = await raceAbort(retriever.retrieve([query], top, signal), signal);
        return { output: passagesText(hits, { charactersMax, form }), ok: true };
      } catch (error) {
        if (!hasCode(error, 'RETRIEVER_REPLY')) throw error;
        return { output: `Local search failed: ${query}`, ok: false };
      }
    },
    close: () => retriever.close(),
  };
}

/** The text of a search's result. */
export function passagesText(
  hits: readonly Hit[],
  { charactersMax, form }: Pick<RetrieverToolOptions, 'charactersMax' | 'form'>,
): string {
  if (hits.length === 0) return NOTHING_FOUND;
  const texts = hits.map(({ contents }) =>
    outputText(webText(contents, PASSAGE_MAX), charactersMax),
  );
  if (form === 'pages')
    return asPages(texts.map((text, i) => ({ place: i + 1, text: strip(text) })));
  return strip(texts.join('\n\n'));
}
