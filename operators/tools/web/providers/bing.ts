/**
 * Bing's own Web Search interface (version 7) and services of its shape: GET, results in `webPages.value`.
 */
import { resultsIn, valueAt } from '../webResult.ts';
import {
  defineProvider,
  languageOf,
  type ProviderOptions,
  type SearchProvider,
  scopeOf,
  withQuery,
} from './provider.ts';

const ADDRESS = 'https://api.bing.microsoft.com/v7.0/search';

/** Bing's own interface. */
export function bing(options: ProviderOptions): SearchProvider {
  const { url, region, top } = options;
  return {
    name: 'Bing',
    scope: scopeOf('bing', options),
    emptyTriesMax: 1,
    request(query, key) {
      const language = languageOf(query, options);
      return {
        url: withQuery(url || ADDRESS, {
          q: query,
          count: String(top),
          // A market is a language and a country; another country with it is not allowed.
          ...(region === '' ? { mkt: language } : { cc: region }),
          setLang: language.split('-')[0]!,
        }),
        headers: { 'ocp-apim-subscription-key': key },
      };
    },
    read(body) {
      const found = valueAt(body, 'webPages.value');
      return resultsIn(found ?? (valueAt(body, '_type') === 'SearchResponse' ? [] : null), {
        title: ['name'],
        url: ['url'],
        siteName: ['siteName', 'displayUrl'],
        date: ['datePublished', 'dateLastCrawled'],
        snippet: ['snippet'],
      });
    },
  };
}

export const bingKind = defineProvider({
  about: 'Bing',
  settings: {},
  keyEnv: 'BING_API_KEY',
  open: bing,
});
