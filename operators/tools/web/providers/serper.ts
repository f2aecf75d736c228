/** Google by Serper (serper.dev): POST with the key in `X-API-KEY`, results in `organic`. */
import { resultsIn, valueAt } from '../webResult.ts';
import {
  defineProvider,
  languageOf,
  type ProviderOptions,
  type SearchProvider,
  scopeOf,
} from './provider.ts';

const ADDRESS = 'https://google.serper.dev/search';

/** Google by Serper. */
export function serper(options: ProviderOptions): SearchProvider {
  const { url, region, top } = options;
  return {
    name: 'Serper',
    scope: scopeOf('serper', options),
    emptyTriesMax: 3,
    request(query, key) {
      const hl = languageOf(query, options).toLowerCase();
      const asked = { q: query, num: top, hl, ...(region === '' ? {} : { gl: region }) };
      return {
        url: url || ADDRESS,
        headers: { 'content-type': 'application/json', 'x-api-key': key },
        body: JSON.stringify(asked),
      };
    },
    read(body) {
      // A reply without the list found nothing.
      const list = valueAt(body, 'organic') ?? (valueAt(body, 'searchParameters') ? [] : null);
      return resultsIn(list, {
        title: ['title'],
        url: ['link'],
        siteName: ['displayed_link', 'displayedLink', 'source'],
        date: ['date'],
        snippet: ['description', 'snippet'],
      });
    },
  };
}

export const serperKind = defineProvider({
  about: 'Google',
  settings: {},
  keyEnv: 'SERPER_API_KEY',
  open: serper,
});
