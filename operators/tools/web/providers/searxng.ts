/** SearXNG, which one runs oneself: GET `/search?format=json`, results in `results`. It needs `json` among `search.formats`. */
import { resultsIn, valueAt } from '../webResult.ts';
import {
  languageOf,
  type ProviderOptions,
  type SearchProvider,
  scopeOf,
  withQuery,
} from './provider.ts';

/** A SearXNG at `url`, which is needed here. */
export function searxng(options: ProviderOptions): SearchProvider {
  const { url, region, language } = options;
  return {
    name: 'SearXNG',
    scope: scopeOf('searxng', options),
    emptyTriesMax: 1,
    request(query, key) {
      const own = languageOf(query, options);
      const locale =
        region === '' || language !== '' ? own : `${own.split('-')[0]}-${region.toUpperCase()}`;
      return {
        url: withQuery(`${url}/search`, { q: query, format: 'json', language: locale }),
        headers: {
          accept: 'application/json',
          ...(key === '' ? {} : { authorization: `Bearer ${key}` }),
        },
      };
    },
    read(body) {
      const results = resultsIn(valueAt(body, 'results'), {
        title: ['title'],
        url: ['url'],
        siteName: ['engine'],
        date: ['publishedDate'],
        snippet: ['content'],
      });
      const silent = valueAt(body, 'unresponsive_engines');
      // It answers all the same when every engine behind it has failed.
      const failed = results?.length === 0 && Array.isArray(silent) && silent.length > 0;
      return failed ? `its engines do not answer: ${JSON.stringify(silent)}` : results;
    },
  };
}
