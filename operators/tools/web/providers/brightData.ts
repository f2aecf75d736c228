/**
 * Bing by BrightData's SERP interface, as the papers use it: POST of the address of a Bing page, results in
 * `organic`.
 */
import { z } from 'zod';
import { resultsIn, valueAt } from '../webResult.ts';
import {
  defineProvider,
  languageOf,
  type ProviderOptions,
  type SearchProvider,
  scopeOf,
  withQuery,
} from './provider.ts';

const ADDRESS = 'https://api.brightdata.com/request';
const BING = 'https://www.bing.com/search';
/** The request of deep search asks for `<b>` around what matched in a result. */
const DECORATED = { num: '11', textDecorations: 'True', textFormat: 'HTML' };

/** A BrightData account, and what to request from it. */
export interface BrightDataOptions extends ProviderOptions {
  /** The zone of the account. */
  readonly zone: string;
  /** Request what the papers' deep search does: 11 results, matches marked. */
  readonly decorated: boolean;
}

/** Bing by BrightData. */
export function brightData(options: BrightDataOptions): SearchProvider {
  const { url, region, zone, decorated } = options;
  return {
    name: 'Bing',
    scope: JSON.stringify([scopeOf('brightdata', options), zone, decorated]),
    emptyTriesMax: 1,
    request(query, key) {
      const language = languageOf(query, options);
      const searched = withQuery(BING, {
        q: query.replaceAll('"', ''),
        mkt: language,
        setLang: language.split('-')[0]!,
        ...(decorated ? DECORATED : {}),
      });
      const cc = region === '' ? '' : `&cc=${encodeURIComponent(region)}`;
      return {
        url: url || ADDRESS,
        headers: { 'content-type': 'application/json', authorization: `Bearer ${key}` },
        body: JSON.stringify({ zone, url: `${searched}&brd_json=1${cc}`, format: 'raw' }),
      };
    },
    read(body) {
      const list = valueAt(body, 'organic') ?? (valueAt(body, 'general') ? [] : null);
      return resultsIn(list, {
        title: ['title'],
        url: ['link'],
        siteName: ['display_link', 'source'],
        date: ['date'],
        snippet: ['description'],
      });
    },
  };
}

export const brightDataKind = defineProvider({
  about: 'Bing',
  settings: { zone: z.string().default('serp_api1').describe('brightdata: zone of the account') },
  keyEnv: 'BRIGHTDATA_API_KEY',
  open: ({ pages, ...options }) => brightData({ ...options, decorated: pages }),
});
