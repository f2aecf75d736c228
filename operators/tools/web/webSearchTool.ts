/**
 * `search` on the web: a provider's results as the papers' result texts, cached for all runs.
 *
 * Three forms, each based on the one before: snippets (`Page 1: …`); with `read`, records of the results with
 * what their pages say around the snippet; with `summariser` as well, a model's summary of those and of the
 * reasoning so far.
 */
import { raceAbort } from '../../../base/index.ts';
import { splitLogs } from '../../dialect/logs.ts';
import { strip } from '../../text/characters.ts';
import type { AskOnce } from '../cache/askOnce.ts';
import type { ToolCache } from '../cache/toolCache.ts';
import type { ReadPage } from '../pages/pageReader.ts';
import type { CallSituation, Tool, ToolResult } from '../tool.ts';
import { priorReasoning } from './priorReasoning.ts';
import { pagesText, type ResultInContext, recordsText } from './resultText.ts';
import { snippetContext } from './snippetContext.ts';
import type { Summariser } from './summarise.ts';
import type { WebResult } from './webResult.ts';
import type { Searched, WebSearch } from './webSearch.ts';

/** How to show the results of a search. */
export interface WebSearchToolOptions {
  /** Null = no provider: only cached results. */
  readonly web: WebSearch | null;
  readonly once: AskOnce;
  /** Where finished result texts are looked up first, those of released caches. Null = nowhere. */
  readonly cache: ToolCache | null;
  /** Limit of results (default 10). */
  readonly top?: number;
  /** Limit of code points of a snippet (default 1000). */
  readonly charactersMax?: number;
  /** Reads pages; null = snippets only (default). */
  readonly read?: ReadPage | null;
  /** Limit of code points on each side of the snippet within a page (default 3000). */
  readonly contextCharacters?: number;
  /** Limit of code points of all records together (default 20000). */
  readonly recordsCharactersMax?: number;
  readonly summariser?: Summariser | null;
  /** Concurrent calls (default 32). */
  readonly concurrencyMax?: number;
}

/** Limit of UTF-16 units of a query. */
const QUERY_MAX = 2000;
const INVALID = 'invalid query';
const CANNOT_FETCH = 'Web Page content cannot fetch';
/** In the papers, a page of a PDF counts as this many words. */
const PDF_WORDS_MAX = 600;
/** Tools whose calls end a piece of the reasoning so far. */
const CALLED = ['search', 'python'];

/** The tool that searches the web; it owns `web`. */
export function webSearchTool(options: WebSearchToolOptions): Tool {
  const { web, once, cache, read = null, summariser = null } = options;
  const { top = 10, charactersMax = 1000, contextCharacters = 3000 } = options;
  const { recordsCharactersMax = 20_000, concurrencyMax = 32 } = options;
  const scope = web === null ? '' : web.provider.scope;

  async function found(query: string, signal: AbortSignal): Promise<Answer> {
    if (web === null) return { kind: 'found', results: [], cached: true };
    const asked = async () => {
      const searched = await web.search(query, signal);
      return { value: JSON.stringify(searched), keep: searched.kind === 'found' };
    };
    const { value, cached } = await once({ kind: 'search', scope, key: query }, asked, signal);
    return { ...(JSON.parse(value) as Searched), cached };
  }

  async function inContext(
    result: WebResult,
    reading: ReadPage,
    signal: AbortSignal,
  ): Promise<ResultInContext> {
    const page = await reading(result.url, signal);
    if (page.kind === 'failed') return { ...result, context: CANNOT_FETCH };
    const text = page.format === 'pdf' ? firstWords(page.text, PDF_WORDS_MAX) : page.text;
    return { ...result, context: snippetContext(text, result.snippet, contextCharacters) };
  }

  async function deep(
    query: string,
    { results }: { readonly results: readonly WebResult[] },
    { reading, signal, situation }: Deep,
  ): Promise<string> {
    const contexts = results.slice(0, top).map((result) => inContext(result, reading, signal));
    const records = recordsText(await Promise.all(contexts), recordsCharactersMax);
    if (summariser === null || results.length === 0) return records;
    const logs = splitLogs(situation.trajectory?.() ?? '', CALLED);
    const reasoning = logs.length === 0 ? '' : priorReasoning(logs);
    return (await summariser.ofSearch({ reasoning, query, documents: records }, signal)) ?? records;
  }

  async function run(
    input: string,
    signal: AbortSignal,
    situation: CallSituation = {},
  ): Promise<ToolResult> {
    const query = strip(input).slice(0, QUERY_MAX);
    if (query === '') return { output: INVALID, ok: false };
    const released = cache?.get({ kind: 'result', scope: '', key: query });
    if (released !== undefined) return { output: released, ok: true, cached: true };
    const answer = await found(query, signal);
    if (answer.kind === 'failed')
      return { output: `${web!.provider.name} search failed: ${query}`, ok: false };
    const { cached } = answer;
    if (read === null)
      return { output: pagesText(answer.results, { top, charactersMax }), ok: true, cached };
    const output = await deep(query, answer, { reading: read, signal, situation });
    return { output, ok: true, cached: cached && summariser === null };
  }

  return {
    name: 'search',
    about: 'Searches the web for a query and gives what the pages that match it best say.',
    concurrencyMax,
    pure: false,
    run: (input, signal, situation) => raceAbort(run(input, signal, situation), signal),
    close: async () => web?.close(),
  };
}

type Answer = Searched & { readonly cached: boolean };

interface Deep {
  readonly reading: ReadPage;
  readonly signal: AbortSignal;
  readonly situation: CallSituation;
}

/** The first `max` words, separated by spaces. */
function firstWords(text: string, max: number): string {
  let words = 0;
  let end = 0;
  for (const { 0: word, index } of text.matchAll(/\S+/g)) {
    if (words++ >= max) break;
    end = index + word.length;
  }
  return text.slice(0, end);
}
