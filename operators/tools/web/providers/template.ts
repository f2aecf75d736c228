/**
 * Any search service that answers in JSON, by a template: its address, headers and body with `{query}`, `{key}`, `{top}`,
 * `{region}` and `{language}` in them, and where in its reply the results lie.
 */
import { resultsIn, valueAt } from '../webResult.ts';
import { languageOf, type ProviderOptions, type SearchProvider, scopeOf } from './provider.ts';

/** How a service is asked, and where its results lie. */
export interface TemplateOptions extends ProviderOptions {
  /** `name: value` each. */
  readonly headers: readonly string[];
  /** JSON that is posted; '' = a GET. */
  readonly body: string;
  /** Names with dots between that lead to the list; '' = the reply is the list. */
  readonly results: string;
  /** Those within a result. */
  readonly fields: { readonly title: string; readonly url: string; readonly snippet: string };
}

const BLANK = /\{(query|key|top|region|language)\}/g;

/** A service that the options describe. */
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

/** A text as it stands between the quotes of JSON. */
function withinJson(text: string): string {
  return JSON.stringify(text).slice(1, -1);
}
