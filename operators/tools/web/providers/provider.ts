/**
 * A search provider: how to ask it, and how to read its reply. Pure; `webSearch` sends requests, waits and
 * retries.
 *
 * `tools.search.provider` chooses one of those in `all.ts`.
 */
import type { z } from 'zod';
import type { HttpRequest } from '../../../../base/http/index.ts';
import type { WebResult } from '../webResult.ts';

/** How a provider is asked and read. */
export interface SearchProvider {
  /** As in the text of a failed search: `Bing search failed: …`. */
  readonly name: string;
  /** What else than the query decides the results: its cache entries are kept under this. */
  readonly scope: string;
  /** Tries of a search that finds nothing: some providers answer with nothing by mistake. */
  readonly emptyTriesMax: number;
  request(query: string, key: string): HttpRequest;
  /**
   * The results; a text = why it has none to give at present; null = not the shape that the provider
   * documents.
   */
  read(body: unknown): readonly WebResult[] | string | null;
}

/** Options of all providers. */
export interface ProviderOptions {
  /** In the place of the provider's own address. */
  readonly url: string;
  /** Country, two letters; '' = the provider's choice. */
  readonly region: string;
  /** Language, such as `en` or `zh-CN`; '' = Chinese if the query has Chinese characters, else English. */
  readonly language: string;
  /** Results to ask for. */
  readonly top: number;
}

/** What settings say to every provider. */
export interface SearchSettings extends ProviderOptions {
  /** The pages found are read as well. */
  readonly pages: boolean;
}

/** A provider that settings choose. */
export interface ProviderKind<Shape extends z.ZodRawShape = z.ZodRawShape> {
  /** What it searches: `Google`. */
  readonly about: string;
  /** Settings that it alone reads, besides the common ones. */
  readonly settings: Shape;
  /** Environment variable with its API key, unless a setting names another; left out = it needs none. */
  readonly keyEnv?: string;
  /** What to check if it refuses requests without a key. */
  readonly check?: string;
  /**
   * The address that is set, as `open` takes it; fails with code `USAGE`. Left out = the address of a server,
   * '' = its own.
   */
  readonly address?: (url: string) => string;
  open(settings: SearchSettings & z.infer<z.ZodObject<Shape>>): SearchProvider;
}

/** Types a kind by its settings; `open` is called with these alone. */
export function defineProvider<Shape extends z.ZodRawShape>(
  kind: ProviderKind<Shape>,
): ProviderKind {
  return kind as unknown as ProviderKind;
}

/** The language of a search: as set, or the query's own. */
export function languageOf(query: string, { language }: Pick<ProviderOptions, 'language'>): string {
  if (language !== '') return language;
  return /\p{Script=Han}/u.test(query) && !/[\p{Script=Hiragana}\p{Script=Katakana}]/u.test(query)
    ? 'zh-CN'
    : 'en-US';
}

/**
 * `base` with these parameters, written as forms are (`+` for a space); those that are empty are left out.
 */
export function withQuery(base: string, parameters: Readonly<Record<string, string>>): string {
  const kept = Object.entries(parameters).filter(([, value]) => value !== '');
  const query = new URLSearchParams(kept).toString();
  return `${base}${base.includes('?') ? '&' : '?'}${query}`;
}

/** The scope of a provider's cache entries. */
export function scopeOf(name: string, { region, language, top, url }: ProviderOptions): string {
  return JSON.stringify([name, url, region, language, top]);
}
