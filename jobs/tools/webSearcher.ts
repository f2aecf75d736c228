/** Web search: by one of the providers, or only in cached results. */

import { serverAddress } from '../../base/http/index.ts';
import { MillraceError } from '../../base/index.ts';
import type { Tool } from '../../operators/tools/index.ts';
import { type WebSearch, webSearch, webSearchTool } from '../../operators/tools/web/index.ts';
import { providerKinds } from '../../operators/tools/web/providers/index.ts';
import { keyOf } from './keyOf.ts';
import type { Shared, ToolContext } from './toolKind.ts';

/** The search tool on the web. */
export function webSearcher(context: ToolContext, shared: Shared): Tool {
  return searchTool(context, shared, webOf(context, shared));
}

/** The search tool over cached or imported results, without a provider. */
export function cacheSearcher(context: ToolContext, shared: Shared): Tool {
  if (shared.cache() === null && context.replay === undefined) {
    throw new MillraceError(
      'USAGE',
      'tools.search.provider=cache needs a cache, but tools.cache is set to none',
    );
  }
  return searchTool(context, shared, null);
}

function searchTool({ settings }: ToolContext, shared: Shared, web: WebSearch | null): Tool {
  const { pages, top, characters, contextCharacters, recordsCharacters, concurrency } =
    settings.tools.search;
  return webSearchTool({
    ...{ web, once: shared.once(), cache: shared.cache() },
    ...{ top, charactersMax: characters, contextCharacters },
    ...{ recordsCharactersMax: recordsCharacters, concurrencyMax: concurrency },
    read: pages ? shared.read() : null,
    summariser: pages ? shared.summariser() : null,
  });
}

function webOf(context: ToolContext, { clock }: Shared): WebSearch {
  const { search } = context.settings.tools;
  const { provider: name, url } = search;
  const kind = providerKinds[name]!;
  const keyEnv = search.keyEnv || (kind.keyEnv ?? '');
  const names = keyEnv.split(',').flatMap((one) => (one.trim() === '' ? [] : [one.trim()]));
  const keys = names.map((one) => keyOf(context, one, `the ${name} provider’s`));
  const address = kind.address ?? ownOr(`the ${name} provider`);
  const { tries: triesMax, retryDelayMs, requestsPerSecond, timeoutMs } = search;
  return webSearch({
    provider: kind.open({ ...search, url: address(url) }),
    keys: keys.filter((key) => key !== ''),
    keyName:
      keyEnv === ''
        ? (kind.check ?? 'keyEnv, which is not set')
        : `the key in $${names.join(' or $')}`,
    ...{ clock, triesMax, retryDelayMs, requestsPerSecond, timeoutMs, report: context.print },
  });
}

/** '' = the provider's own. */
function ownOr(what: string): (url: string) => string {
  return (url) => (url === '' ? '' : serverAddress(url, { what, suffix: '/' }));
}
