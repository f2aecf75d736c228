/**
 * The tools that settings name, opened: what can be wrong with them (a missing key, an address, a corpus)
 * fails here, before the first rollout.
 */
import { resolve } from 'node:path';
import { serverAddress } from '../../base/http/index.ts';
import { MillraceError, type SleepClock, sleepClock } from '../../base/index.ts';
import { configuredTextModel, samplingOf } from '../../model/text/index.ts';
import {
  type AskOnce,
  askOnce,
  defaultCachePath,
  keptTool,
  openToolCache,
  type ToolCache,
} from '../../operators/tools/cache/index.ts';
import type { Tool } from '../../operators/tools/index.ts';
import {
  browseTool,
  pageReader,
  type ReadPage,
  readerService,
  webPages,
} from '../../operators/tools/pages/index.ts';
import {
  type Asks,
  remoteRetriever,
  retrieverTool,
} from '../../operators/tools/retrieval/index.ts';
import { readCorpus, searchTool } from '../../operators/tools/search/index.ts';
import {
  type Summariser,
  summariser,
  type WebSearch,
  webSearch,
  webSearchTool,
} from '../../operators/tools/web/index.ts';
import {
  bing,
  brightData,
  type ProviderOptions,
  type SearchProvider,
  searxng,
  serper,
  template,
} from '../../operators/tools/web/providers/index.ts';
import type { JobContext } from '../defineJob.ts';
import { keyOf } from './keyOf.ts';
import { mcpTools } from './mcpTools.ts';
import { pythonOf } from './pythonOf.ts';
import { retrieverAt } from './retrieverAt.ts';
import type { ToolName, ToolSettings } from './toolSettings.ts';

/** The settings that tools are made of. */
export interface ToolsSettings {
  readonly tools: ToolSettings;
  readonly corpus: string;
  readonly searchTop: number;
  readonly searchCharacters: number;
}

type Context = Pick<
  JobContext<ToolsSettings>,
  'settings' | 'folder' | 'seed' | 'clock' | 'print' | 'replay' | 'own'
>;

/**
 * The tools, in the order in which they are named; the job's context owns what they share. Fails with `USAGE`
 * or what cannot be opened.
 */
export async function toolsOf(context: Context): Promise<readonly Tool[]> {
  const { settings } = context;
  const { use, search } = settings.tools;
  const names = new Set<ToolName>(use);
  if (search.provider !== 'corpus') names.add('search');
  const shared = sharedBy(context);
  const make: Readonly<Record<ToolName, () => Promise<Tool> | Tool>> = {
    python: () => pythonTool(context, shared),
    search: () => {
      if (search.provider === 'corpus') return corpusSearch(settings);
      return search.provider === 'retriever' ? retrieval(context) : searchOf(context, shared);
    },
    browse: () => {
      const { shownCharacters: charactersMax } = settings.tools.pages;
      return browseTool({ read: shared.read(), summariser: shared.summariser(), charactersMax });
    },
  };
  const made = await Promise.all([...names].map((name) => make[name]()));
  return [...made, ...(await mcpTools(settings.tools.mcp, context))];
}

/** What several tools use, opened when the first of them asks. */
interface Shared {
  readonly clock: SleepClock;
  readonly cache: () => ToolCache | null;
  readonly once: () => AskOnce;
  readonly read: () => ReadPage;
  readonly summariser: () => Summariser | null;
}

function sharedBy(context: Context): Shared {
  const { settings, clock: time, own, replay } = context;
  const { tools } = settings;
  const clock = sleepClock(time);
  const cache = lazily(() => {
    // A replay answers from its record.
    if (tools.cache === 'none' || replay !== undefined) return null;
    const path = tools.cache === '' ? defaultCachePath() : resolve(tools.cache);
    return own(openToolCache({ path, clock, daysMax: tools.cacheDays }));
  });
  const once = lazily(() => askOnce(cache()));
  const read = lazily(() => {
    const { characters: charactersMax, url, provider, keyEnv, ...rest } = tools.pages;
    const source =
      provider === 'web'
        ? webPages({ clock, ...rest })
        : readerService({
            ...{ clock, ...rest, key: keyOf(context, keyEnv, 'the reader service’s') },
            ...(url === ''
              ? {}
              : { url: serverAddress(url, { what: 'a reader service', suffix: '/' }) }),
          });
    return pageReader({ source: own(source), once: once(), charactersMax });
  });
  return { clock, cache, once, read, summariser: lazily(() => summariserOf(context, once())) };
}

function summariserOf(
  { settings, seed, clock, own, print }: Context,
  once: AskOnce,
): Summariser | null {
  const given = settings.tools.summariser;
  if (given.url === '') return null;
  const model = own(
    configuredTextModel(given, { own: neverAsked, clock: sleepClock(clock), report: print }),
  );
  const sampling = samplingOf(given);
  const { server, api, model: name } = given;
  return summariser({
    ask: ({ prompt, draws }, signal) =>
      model.complete({ ...sampling, prompt, draws: [seed, ...draws] }, signal),
    scope: JSON.stringify([server, api, name, sampling]),
    once,
  });
}

/** Only a model on a server comes here. */
function neverAsked(): never {
  throw new Error('the summariser needs a url');
}

async function pythonTool(context: Context, shared: Shared): Promise<Tool> {
  const { packages, cachePython, python } = context.settings.tools;
  const tool = await pythonOf(python, packages, { ...context, clock: shared.clock });
  if (cachePython && !tool.pure) {
    throw new MillraceError(
      'USAGE',
      'tools.cachePython=true cannot be used with tools.python.url: on a server a program may give a different result each time',
    );
  }
  const cache = cachePython ? shared.cache() : null;
  const { timeoutMs, memoryMaxMiB, characters } = python;
  const scope = `pyodide 314.0.7 ${timeoutMs} ${memoryMaxMiB} ${characters} ${tool.about}`;
  return cache === null ? tool : keptTool(tool, cache, scope);
}

async function corpusSearch(settings: ToolsSettings): Promise<Tool> {
  const { corpus, searchTop: top, searchCharacters: charactersMax } = settings;
  if (corpus !== '') {
    return searchTool({ documents: await readCorpus(corpus), top, charactersMax });
  }
  throw new MillraceError(
    'USAGE',
    'the search tool needs documents (--set corpus=FILE, JSON Lines with id, title, text), an index of them (--set tools.search.provider=retriever, docs/retrieval.md), or a provider that searches the web (--set tools.search.provider=searxng, docs/tools.md)',
  );
}

async function retrieval(context: Context): Promise<Tool> {
  const { searchTop: top, searchCharacters: charactersMax, tools } = context.settings;
  const { form, concurrency: concurrencyMax } = tools.search;
  const retriever = await retrieverOf(context);
  return retrieverTool({ retriever, top, charactersMax, form, concurrencyMax });
}

async function retrieverOf(context: Context): Promise<Asks> {
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
  if (replay !== undefined) return nobody;
  const { fusion, denseWeight, encoder } = search;
  const { corpus } = settings;
  print(`search: opening ${index}`);
  const place = { index, fusion, corpus, denseWeight, encoder, key, clock };
  return retrieverAt(place, new AbortController().signal);
}

const nobody: Asks = {
  retrieve: () => Promise.reject(new Error('a replay does not use the retriever')),
  close: async () => undefined,
};

function searchOf(context: Context, shared: Shared): Tool {
  const { search } = context.settings.tools;
  const { pages, top, characters, contextCharacters, recordsCharacters, concurrency } = search;
  if (search.provider === 'cache' && shared.cache() === null && context.replay === undefined) {
    throw new MillraceError(
      'USAGE',
      'tools.search.provider=cache needs a cache, but tools.cache is none',
    );
  }
  return webSearchTool({
    ...{ web: webOf(context, shared.clock), once: shared.once(), cache: shared.cache() },
    ...{ top, charactersMax: characters, contextCharacters },
    ...{ recordsCharactersMax: recordsCharacters, concurrencyMax: concurrency },
    read: pages ? shared.read() : null,
    summariser: pages ? shared.summariser() : null,
  });
}

/** Null where nobody is to be asked. */
function webOf(context: Context, clock: SleepClock): WebSearch | null {
  const { search } = context.settings.tools;
  if (['cache', 'corpus', 'retriever'].includes(search.provider)) return null;
  const { keyEnv, names } = keyNames(search);
  const keys = names.map((name) => keyOf(context, name, `the ${search.provider} provider’s`));
  const { tries: triesMax, retryDelayMs, requestsPerSecond, timeoutMs } = search;
  return webSearch({
    provider: providerOf(search),
    keys: keys.filter((key) => key !== ''),
    keyName:
      keyEnv === ''
        ? (HINTS[search.provider] ?? 'keyEnv, which is not set')
        : `the key in $${names.join(' or $')}`,
    ...{ clock, triesMax, retryDelayMs, requestsPerSecond, timeoutMs, report: context.print },
  });
}

type SearchSettings = ToolSettings['search'];

const KEYS: Readonly<Record<string, string>> = {
  serper: 'SERPER_API_KEY',
  bing: 'BING_API_KEY',
  brightdata: 'BRIGHTDATA_API_KEY',
};

/** What is the matter where no key was given and one is refused all the same. */
const HINTS: Readonly<Record<string, string>> = {
  searxng: 'that json is among search.formats in its settings.yml',
};

function keyNames({ provider, keyEnv }: SearchSettings) {
  const given = keyEnv === '' ? (KEYS[provider] ?? '') : keyEnv;
  const names = given.split(',').map((name) => name.trim());
  return { keyEnv: given, names: names.filter((name) => name !== '') };
}

function providerOf(settings: SearchSettings): SearchProvider {
  const { provider, zone, pages, headers, body, results } = settings;
  const options: ProviderOptions = { ...settings, url: addressOf(settings) };
  switch (provider) {
    case 'serper':
      return serper(options);
    case 'bing':
      return bing(options);
    case 'brightdata':
      return brightData({ ...options, zone, decorated: pages });
    case 'searxng':
      return searxng(options);
    default: {
      const { titleField: title, urlField: url, snippetField: snippet } = settings;
      return template({ ...options, headers, body, results, fields: { title, url, snippet } });
    }
  }
}

/** '' = the provider's own. */
function addressOf({ provider, url }: SearchSettings): string {
  if (provider === 'json') {
    const filled = url.replace(/\{\w+\}/g, 'x');
    if (URL.canParse(filled) && /^https?:/.test(filled)) return url;
    throw new MillraceError(
      'USAGE',
      'tools.search.provider=json needs the URL of the service: --set tools.search.url=https://host/search?q={query}',
    );
  }
  if (provider === 'searxng') {
    if (url !== '') return serverAddress(url, { what: 'a SearXNG', suffix: '/search' });
    throw new MillraceError(
      'USAGE',
      'tools.search.provider=searxng needs its URL: --set tools.search.url=http://127.0.0.1:8888',
    );
  }
  return url === '' ? '' : serverAddress(url, { what: `the ${provider} provider`, suffix: '/' });
}

/** Makes it when it is first asked for. */
function lazily<T>(make: () => T): () => T {
  let made: { readonly value: T } | null = null;
  return () => {
    made ??= { value: make() };
    return made.value;
  };
}
