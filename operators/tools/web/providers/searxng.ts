/**
 * SearXNG, which you run yourself: GET `/search?format=json`, results in `results`. It needs `json` among
 * `search.formats`.
 */

import { serverAddress } from '../../../../base/http/index.ts';
import { MillraceError } from '../../../../base/index.ts';
import { resultsIn, valueAt } from '../webResult.ts';
import {
  defineProvider,
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
      // It answers even if all of its engines have failed.
      const failed = results?.length === 0 && Array.isArray(silent) && silent.length > 0;
      return failed ? `its engines do not answer: ${JSON.stringify(silent)}` : results;
    },
  };
}

export const searxngKind = defineProvider({
  about: 'SearXNG',
  settings: {},
  check: 'that json is among search.formats in its settings.yml',
  address(url) {
    if (url !== '') return serverAddress(url, { what: 'a SearXNG', suffix: '/search' });
    throw new MillraceError(
      'USAGE',
      'tools.search.provider=searxng needs its URL: --set tools.search.url=http://127.0.0.1:8888',
    );
  },
  open: searxng,
});
