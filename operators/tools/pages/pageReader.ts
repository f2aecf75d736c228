/**
 * Reads pages of the web: a URL to readable text, kept for all runs.
 *
 * Guarantees: no request goes to an address that is not public, unless that is allowed, redirects and names
 * that change their address included; a site's robots.txt is respected if requested; bytes, time and text are
 * bounded; what cannot be read is data. A page's text is hostile, and comes back without what no reader sees
 * (`webText`).
 */
import { raceAbort } from '../../../base/index.ts';
import type { AskOnce } from '../cache/askOnce.ts';
import { webLine, webText } from '../web/webText.ts';

/** The kind of file that the text comes from. */
export type PageFormat = 'html' | 'pdf' | 'text' | 'docx' | 'xlsx' | 'pptx' | 'zip';

/** A page that was read. */
export interface PageText {
  readonly kind: 'read';
  readonly title: string;
  readonly text: string;
  readonly format: PageFormat;
}

/** A page, or why it could not be read: a sentence for a policy. */
export type Page = PageText | { readonly kind: 'failed'; readonly reason: string };

/** Reads the page at a URL. Rejects with the signal's reason alone. */
export type ReadPage = (url: string, signal: AbortSignal) => Promise<Page>;

/** Fetches and parses one page, without a cache. */
export interface PageSource {
  /** What else decides the text besides the URL: its cache entries use this scope. */
  readonly scope: string;
  readonly read: ReadPage;
  close(): Promise<void>;
}

/** Which pages to read, and how much of them. */
export interface PageReaderOptions {
  readonly source: PageSource;
  readonly once: AskOnce;
  /** Limit of UTF-16 units of a page's text (default 20000). */
  readonly charactersMax?: number;
}

const TITLE_MAX = 1000;
const URL_MAX = 4000;

/** Reads pages of `source`, each once; what could not be read is tried again on the next request. */
export function pageReader(options: PageReaderOptions): ReadPage {
  const { source, once, charactersMax = 20_000 } = options;
  return async (given, signal) => {
    const url = pageUrl(given);
    if (url === null) return failedPage('that is not a valid URL of a web page');
    const place = { kind: 'page', scope: `${source.scope}/${charactersMax}`, key: url } as const;
    const ask = async () => {
      const page = await source.read(url, signal);
      if (page.kind === 'failed') return { value: JSON.stringify(page), keep: false };
      const title = webLine(page.title, TITLE_MAX);
      const text = webText(page.text, charactersMax);
      return { value: JSON.stringify({ ...page, title, text }), keep: true };
    };
    const { value } = await raceAbort(once(place, ask, signal), signal);
    return JSON.parse(value) as Page;
  };
}

/** A page that cannot be read. */
export function failedPage(reason: string): Page {
  return { kind: 'failed', reason };
}

/** The URL without the parts meant for the reader only; null if it is not the URL of a page. */
export function pageUrl(given: string): string | null {
  const text = given.trim();
  if (text.length > URL_MAX || !URL.canParse(text)) return null;
  const url = new URL(text);
  if (url.protocol !== 'http:' && url.protocol !== 'https:') return null;
  if (url.username !== '' || url.password !== '') return null;
  url.hash = '';
  return url.href;
}
