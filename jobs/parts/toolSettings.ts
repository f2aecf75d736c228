/**
 * The tools of a ready job as settings: which the policy may call, who searches the web, who reads pages, who
 * summarises, and what is kept of all that.
 *
 * `tools` may be given as the list of names alone: `--set tools=python,search` is `--set
 * tools.use=python,search`.
 */

import { z } from 'zod';
import { isWrittenLogin, keyIn } from '../../base/http/index.ts';
import { textModelSettings } from '../../model/text/index.ts';
import { extracts } from '../../operators/tools/pages/index.ts';
import { fusionMethods, passageForms } from '../../operators/tools/retrieval/index.ts';
import { positiveInt } from '../policySettings.ts';
import { mcpSettings } from './mcpTools.ts';
import { pythonSettings } from './pythonOf.ts';

type Refinement = z.RefinementCtx;

/** Settings are written down with the run: a key in an address would be too. */
function noKeyIn(address: string, context: Refinement): void {
  const found = keyIn(address);
  if (found === null) return;
  const message = `the URL contains ${found}, which would be stored with the run: put the key into an environment variable, name it in keyEnv, and write {key} in its place`;
  context.addIssue({ code: 'custom', message });
}

function noLoginIn(header: string, context: Refinement): void {
  if (!isWrittenLogin(header)) return;
  const name = header.slice(0, header.indexOf(':'));
  const message = `the header ${name} contains a key, which would be stored with the run: put the key into an environment variable, name it in keyEnv, and write {key} in its place`;
  context.addIssue({ code: 'custom', message });
}

const atLeastZero = z.number().nonnegative();

/** The tools that a ready job can have. */
export const toolNames = ['python', 'search', 'browse'] as const;
/** One of `toolNames`. */
export type ToolName = (typeof toolNames)[number];

/** Who searches: the job's own documents, a retriever, or one of those that search the web. */
const providers = [
  'corpus',
  'retriever',
  'serper',
  'bing',
  'brightdata',
  'searxng',
  'json',
  'cache',
] as const;

/** A list that the command line gives with commas. */
const listed = (given: unknown): unknown =>
  typeof given === 'string'
    ? given.split(',').flatMap((name) => (['', 'none'].includes(name.trim()) ? [] : [name.trim()]))
    : given;

const searchSettings = z.object({
  provider: z
    .enum(providers)
    .default('corpus')
    .describe(
      'what to search: the documents of `corpus`; a retriever (docs/retrieval.md); the web by serper (Google), bing, brightdata (Bing), searxng or any json service; cache = only cached results',
    ),
  url: z
    .string()
    .superRefine(noKeyIn)
    .default('')
    .describe(
      'URL of the provider (required for searxng and json, where {query} stands for the query) or of a retriever’s server; empty = the provider’s own',
    ),
  index: z
    .string()
    .default('')
    .describe(
      'with retriever: index to search in this process, a folder (millrace retriever build) or qdrant://host:6333/collection',
    ),
  encoder: z
    .string()
    .default('')
    .describe('folder of its encoder, if the index does not record it or it has moved'),
  fusion: z
    .enum(['none', ...fusionMethods])
    .default('none')
    .describe(
      'whether to search by words too, and fuse both results by reciprocal ranks or weighted scores',
    ),
  denseWeight: z
    .number()
    .min(0)
    .max(1)
    .default(0.5)
    .describe('weight of the index in weighted scores; the search by words has the rest'),
  form: z
    .enum(passageForms)
    .default('documents')
    .describe(
      'how a retriever’s passages are shown: one after the other, as in the papers’ local search, or as numbered pages',
    ),
  keyEnv: z
    .string()
    .default('')
    .describe(
      'environment variables that hold API keys, comma-separated; empty = SERPER_API_KEY, BING_API_KEY or BRIGHTDATA_API_KEY',
    ),
  zone: z.string().default('serp_api1').describe('brightdata: zone of the account'),
  region: z.string().default('').describe('country to search in, such as us or cn'),
  language: z
    .string()
    .default('')
    .describe(
      'language of a search, such as en-US; empty = Chinese or English, depending on the query',
    ),
  top: positiveInt.default(10).describe('maximum results'),
  characters: positiveInt.default(1000).describe('maximum characters per snippet'),
  tries: positiveInt.default(3).describe('attempts per search with each key'),
  retryDelayMs: atLeastZero.default(5000).describe('wait between attempts'),
  requestsPerSecond: atLeastZero.default(0).describe('maximum searches per second; 0 = no limit'),
  timeoutMs: positiveInt.default(60_000).describe('for one request'),
  concurrency: positiveInt.default(32).describe('concurrent searches'),
  pages: z
    .boolean()
    .default(false)
    .describe('read the pages found, and show the text around each snippet'),
  contextCharacters: positiveInt
    .default(3000)
    .describe('maximum characters on each side of a snippet in its page'),
  recordsCharacters: positiveInt
    .default(20_000)
    .describe('maximum characters of all pages of a search together'),
  headers: z
    .preprocess(
      (given) => (typeof given === 'string' ? [given] : given),
      z.array(z.string().superRefine(noLoginIn)),
    )
    .prefault([])
    .describe('json: request headers, such as "Authorization: Bearer {key}"'),
  body: z.string().default('').describe('json: body to post, with {query}; empty = GET'),
  results: z.string().default('results').describe('json: path of the results in a reply'),
  titleField: z.string().default('title').describe('json: path of a result’s title'),
  urlField: z.string().default('url').describe('json: path of a result’s URL'),
  snippetField: z.string().default('snippet').describe('json: path of a result’s snippet'),
});

const pagesSettings = z.object({
  provider: z
    .enum(['web', 'reader'])
    .default('web')
    .describe('how pages are read: by this process, or by a reader service (Jina’s API)'),
  url: z
    .string()
    .superRefine(noKeyIn)
    .default('')
    .describe('URL of the reader service; empty = Jina’s'),
  keyEnv: z
    .string()
    .default('')
    .describe('environment variable that holds the reader service’s API key'),
  characters: positiveInt.default(20_000).describe('maximum characters read from a page'),
  shownCharacters: positiveInt
    .default(4000)
    .describe(
      'maximum characters of a page that `browse` shows; with a summariser it shows the summary',
    ),
  extract: z
    .enum(extracts)
    .default('readable')
    .describe('what to keep of HTML: the main text, or all visible text'),
  timeoutMs: positiveInt.default(20_000).describe('for one request'),
  bytesMax: positiveInt.default(8 * 1024 * 1024).describe('maximum bytes of a page'),
  requestsPerSecond: atLeastZero.default(0).describe('maximum requests per second; 0 = no limit'),
  robots: z.boolean().default(true).describe('respect robots.txt'),
  privateAddresses: z
    .boolean()
    .default(false)
    .describe('allow pages at private, loopback and link-local addresses'),
});

/** The settings `tools` of a ready job. */
export const toolSettings = z
  .preprocess(
    (given) => (typeof given === 'string' || Array.isArray(given) ? { use: given } : given),
    z.object({
      use: z
        .preprocess(listed, z.array(z.enum(toolNames)))
        .prefault('python')
        .describe(
          'tools that the policy may call: python, search, browse, or none; setting a search provider adds search',
        ),
      python: pythonSettings.prefault({}),
      search: searchSettings.prefault({}),
      pages: pagesSettings.prefault({}),
      summariser: textModelSettings
        .prefault({ temperature: 0.6, topP: 0.95, maxTokens: 4096 })
        .describe('model that summarises what search and browse read; no url = no summaries'),
      packages: z
        .preprocess(
          (given) => (given === 'all' ? given : listed(given)),
          z.union([z.literal('all'), z.array(z.string())]),
        )
        .prefault('all')
        .describe(
          'packages that Python programs can import: all added ones (millrace tools python add), some of them, or none',
        ),
      mcp: mcpSettings,
      cache: z
        .string()
        .default('')
        .describe(
          'file that caches tool results for all runs; empty = the user’s cache (millrace cache ls); none = no cache',
        ),
      cacheDays: atLeastZero.default(0).describe('days that cached results are valid; 0 = forever'),
      cachePython: z.boolean().default(false).describe('also cache outputs of Python programs'),
    }),
  )
  .prefault({});

/** `toolSettings` with all defaults filled in. */
export type ToolSettings = z.infer<typeof toolSettings>;
