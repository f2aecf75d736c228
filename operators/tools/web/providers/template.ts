/**
 * Any search service that answers in JSON, by a template: its address, headers and body with `{query}`,
 * `{key}`, `{top}`, `{region}` and `{language}` in them, and where in its reply the results are.
 */
import { z } from 'zod';
import { keylessHeader } from '../../../../base/http/index.ts';
import { MillraceError } from '../../../../base/index.ts';
import { resultsIn, valueAt } from '../webResult.ts';
import {
  defineProvider,
  languageOf,
  type ProviderOptions,
  type SearchProvider,
  scopeOf,
} from './provider.ts';

/** How to ask a service, and where its results are. */
export interface TemplateOptions extends ProviderOptions {
  /** `name: value` each. */
  readonly headers: readonly string[];
  /** JSON to post; '' = a GET. */
  readonly body: string;
  /** Dotted names that lead to the list; '' = the reply is the list. */
  readonly results: string;
  /** Those within a result. */
  readonly fields: { readonly title: string; readonly url: string; readonly snippet: string };
}

const BLANK = /\{(query|key|top|region|language)\}/g;

/** A service described by the options. */
export function template(options: TemplateOptions): SearchProvider {
  const { url, top, region, headers, body, results, fields } = options;
  return {
    name: 'Web',
    scope: JSON.stringify([scopeOf('json', options), headers, body, results, fields]),
    emptyTriesMax: 1,
    request(query, key) {
      const language = languageOf(query, options);
      const values: Record<string, string> = { query, key, top: String(top), region, language };
      const filled = (text: string, written: (value: string) => string): string =>
        text.replace(BLANK, (_, name: string) => written(values[name]!));
      const named = headers.map((line): [string, string] => {
        const colon = line.indexOf(':');
        const value = filled(line.slice(colon + 1), (one) => one.replace(/[^\x20-\x7e]/g, ''));
        return [line.slice(0, colon).trim().toLowerCase(), value.trim()];
      });
      const posted = body === '' ? undefined : filled(body, withinJson);
      return {
        url: filled(url, encodeURIComponent),
        headers: {
          ...(posted === undefined ? {} : { 'content-type': 'application/json' }),
          ...Object.fromEntries(named),
        },
        body: posted,
      };
    },
    read: (reply) =>
      resultsIn(results === '' ? reply : valueAt(reply, results), {
        title: [fields.title],
        url: [fields.url],
        siteName: [],
        date: [],
        snippet: [fields.snippet],
      }),
  };
}

/** A text escaped for use between the quotes of JSON. */
function withinJson(text: string): string {
  return JSON.stringify(text).slice(1, -1);
}

export const templateKind = defineProvider({
  about: 'any JSON service',
  settings: {
    headers: z
      .preprocess((given) => (typeof given === 'string' ? [given] : given), z.array(keylessHeader))
      .prefault([])
      .describe('json: request headers, such as "Authorization: Bearer {key}"'),
    body: z.string().default('').describe('json: body to post, with {query}; empty = GET'),
    results: z.string().default('results').describe('json: path of the results in a reply'),
    titleField: z.string().default('title').describe('json: path of a result’s title'),
    urlField: z.string().default('url').describe('json: path of a result’s URL'),
    snippetField: z.string().default('snippet').describe('json: path of a result’s snippet'),
  },
  address(url) {
    const filled = url.replace(/\{\w+\}/g, 'x');
    if (URL.canParse(filled) && /^https?:/.test(filled)) return url;
    throw new MillraceError(
      'USAGE',
      'tools.search.provider=json needs the URL of the service: --set tools.search.url=https://host/search?q={query}',
    );
  },
  open({ titleField: title, urlField: url, snippetField: snippet, ...options }) {
    return template({ ...options, fields: { title, url, snippet } });
  },
});
