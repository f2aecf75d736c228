/**
 * `tools.search.provider=retriever`: an index of the user's, in this process or on a server
 * (docs/retrieval.md).
 */

import { serverAddress } from '../../base/http/index.ts';
import { MillraceError, sleepClock } from '../../base/index.ts';
import type { Tool } from '../../operators/tools/index.ts';
import {
  type Asks,
  remoteRetriever,
  retrieverTool,
} from '../../operators/tools/retrieval/index.ts';
import { keyOf } from './keyOf.ts';
import { retrieverAt } from './retrieverAt.ts';
import type { ToolContext } from './toolKind.ts';

/** The search tool over it. */
export async function retrieval(context: ToolContext): Promise<Tool> {
  const { searchTop: top, searchCharacters: charactersMax, tools } = context.settings;
  const { form, concurrency: concurrencyMax } = tools.search;
  const retriever = await retrieverOf(context);
  return retrieverTool({ retriever, top, charactersMax, form, concurrencyMax });
}

async function retrieverOf(context: ToolContext): Promise<Asks> {
  const { settings, replay, print } = context;
  const { url, index, keyEnv, tries, retryDelayMs, timeoutMs, ...search } = settings.tools.search;
  if ((url === '') === (index === '')) {
    throw new MillraceError(
      'USAGE',
      'tools.search.provider=retriever needs either the folder of an index (--set tools.search.index=FOLDER, millrace retriever build) or the URL of a server (--set tools.search.url=http://127.0.0.1:1243); see docs/retrieval.md',
    );
  }
  const clock = sleepClock(context.clock);
  const key = keyOf(context, keyEnv, 'the retriever’s');
  if (url !== '') {
    const address = serverAddress(url, { what: 'a retriever', suffix: '/retrieve' });
    const waits = { triesMax: tries, retryDelayMs, timeoutMs };
    return remoteRetriever({ url: address, key, clock, ...waits, report: print });
  }
  // A replay answers from its record.
  if (replay !== undefined) return unasked;
  const { fusion, denseWeight, encoder } = search;
  const { corpus } = settings;
  print(`search: opening ${index}`);
  const place = { index, fusion, corpus, denseWeight, encoder, key, clock };
  return retrieverAt(place, new AbortController().signal);
}

const unasked: Asks = {
  retrieve: () => Promise.reject(new Error('a replay does not use the retriever')),
  close: async () => undefined,
};
