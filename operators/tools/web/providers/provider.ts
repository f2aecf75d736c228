/**
 * A search provider: how to ask it, and how to read its reply. Pure; `webSearch` sends requests, waits and
 * retries.
 *
 * `tools.search.provider` chooses one of those in `all.ts`.
 */
import type { z } from 'zod';
import type { HttpRequest } from '../../../../base/http/index.ts';
import type { WebResult } from '../webResult.ts';

/** How to ask a provider and read its reply. */
export interface SearchProvider {
  /** Its name in the text of a failed search: `Bing search failed: …`. */
  readonly name: string;
  /** What decides the results besides the query: its cache entries use this scope. */
  readonly scope: string;
  /** Attempts for a search that finds nothing: some providers return nothing by mistake. */
  readonly emptyTriesMax: number;
  request(query: string, key: string): HttpRequest;
  /** The results; a text = why it has none to give at present; null = not the documented form. */
  read(body: unknown): readonly WebResult[] | string | null;
}

/** Options of all providers. */
export interface ProviderOptions {
  /** Instead of the provider's own address. */
  readonly url: string;
  /** Country, two letters; '' = the provider's choice. */
  readonly region: string;
  /**
   * Language, such as `en` or `zh-CN`; '' = Chinese if the query has Chinese characters, otherwise English.
   */
  readonly language: string;
  /** Results to ask for. */
  readonly top: number;
}

/** Settings for every provider. */
export interface SearchSettings extends ProviderOptions {
  /** The pages found are read as well. */
  readonly pages: boolean;
}

/** A provider that settings can choose. */
export interface ProviderKind<Shape extends z.ZodRawShape = z.ZodRawShape> {
  /** What it searches: `Google`. */
  readonly about: string;
  /** Settings that only it uses, besides the common ones. */
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

/** `base` with these parameters, form-encoded (`+` for a space); empty ones are left out. */
export function withQuery(base: string, parameters: Readonly<Record<string, string>>): string {
  const kept = Object.entries(parameters).filter(([, value]) => value !== '');
  const query = new URLSearchParams(kept).toString();
  return `${base}${base.includes('?') ? '&' : '?'}${query}`;
}

/** The scope of a provider's cache entries. */
export function scopeOf(name: string, { region, language, top, url }: ProviderOptions): string {
  return JSON.stringify([name, url, region, language, top]);
}
