/**
 * The tools of a ready job as settings: which the policy may call, who searches the web, who reads pages, who summarises, and
 * what is kept of all that.
 *
 * `tools` may be given as the list of names alone: `--set tools=python,search` is `--set tools.use=python,search`.
 */

import { z } from 'zod';
import { isWrittenLogin, keyIn } from '../../base/http/serverAddress.ts';
import { textModelSettings } from '../../model/text/configured.ts';
import { extracts } from '../../operators/tools/pages/pageParser.ts';
import { fusionMethods } from '../../operators/tools/retrieval/fusedRetriever.ts';
import { passageForms } from '../../operators/tools/retrieval/retrieverTool.ts';
import { positiveInt } from '../policySettings.ts';
import { mcpSettings } from './mcpTools.ts';
import { pythonSettings } from './pythonOf.ts';

type Refinement = z.RefinementCtx;

/** Settings are written down with the run: a key in an address would be too. */
function noKeyIn(address: string, context: Refinement): void {
  const found = keyIn(address);
  if (found === null) return;
  const message = `the address carries ${found}, which would be stored with the run: put the key into an environment variable, name it in keyEnv, and write {key} in its place`;
  context.addIssue({ code: 'custom', message });
}

function noLoginIn(header: string, context: Refinement): void {
  if (!isWrittenLogin(header)) return;
  const name = header.slice(0, header.indexOf(':'));
  const message = `the header ${name} carries a key, which would be stored with the run: put the key into an environment variable, name it in keyEnv, and write {key} in its place`;
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
      'who searches: the documents of `corpus`; a retriever (docs/retrieval.md); Google by Serper, Bing, Bing by BrightData, a SearXNG, any JSON service; cache = what was kept or imported alone',
    ),
  url: z
    .string()
    .superRefine(noKeyIn)
    .default('')
    .describe(
      'address of the provider: needed for searxng and json ({query} stands for the query), else its own; of a retriever’s server',
    ),
  index: z
    .string()
    .default('')
    .describe(
      'retriever in this process: the folder of an index (millrace retriever build), or qdrant://host:6333/collection',
    ),
  encoder: z
    .string()
    .default('')
    .describe('folder of its encoder, where the index does not know it or it lies elsewhere'),
  fusion: z
    .enum(['none', ...fusionMethods])
    .default('none')
    .describe(
      'what is found by words beside the index: nothing, or both fused by reciprocal ranks or by weighted scores',
    ),
  denseWeight: z
    .number()
    .min(0)
    .max(1)
    .default(0.5)
    .describe('of the index in weighted scores; words have the rest'),
  form: z
    .enum(passageForms)
    .default('documents')
    .describe(
      'how passages of a retriever are shown: one after the other, as the papers’ local search does, or as pages with numbers',
    ),
  keyEnv: z
    .string()
    .default('')
    .describe(
      'environment variables with API keys, comma-separated; empty = SERPER_API_KEY, BING_API_KEY, BRIGHTDATA_API_KEY',
    ),
  zone: z.string().default('serp_api1').describe('zone of a BrightData account'),
  region: z.string().default('').describe('country to search in, two letters: us, cn'),
  language: z
    .string()
    .default('')
    .describe('language of a search: en-US; empty = Chinese or English, as the query is'),
  top: positiveInt.default(10).describe('most results'),
  characters: positiveInt.default(1000).describe('most characters of a snippet'),
  tries: positiveInt.default(3).describe('tries of a search, with each key'),
  retryDelayMs: atLeastZero.default(5000).describe('wait between tries'),
  requestsPerSecond: atLeastZero.default(0).describe('most searches a second; 0 = no limit'),
  timeoutMs: positiveInt.default(60_000).describe('for one request'),
  concurrency: positiveInt.default(32).describe('searches at once'),
  pages: z
    .boolean()
    .default(false)
    .describe('read the pages that are found, and show what stands around each snippet'),
  contextCharacters: positiveInt
    .default(3000)
    .describe('most characters on each side of a snippet in its page'),
  recordsCharacters: positiveInt
    .default(20_000)
    .describe('most characters of all pages of a search together'),
  headers: z
    .preprocess(
      (given) => (typeof given === 'string' ? [given] : given),
      z.array(z.string().superRefine(noLoginIn)),
    )
    .prefault([])
    .describe('json: headers, such as "Authorization: Bearer {key}"'),
  body: z.string().default('').describe('json: what is posted, with {query}; empty = a GET'),
  results: z.string().default('results').describe('json: where the results lie in a reply'),
  titleField: z.string().default('title').describe('json: where a result has its title'),
  urlField: z.string().default('url').describe('json: its address'),
  snippetField: z.string().default('snippet').describe('json: its snippet'),
});

const pagesSettings = z.object({
  provider: z
    .enum(['web', 'reader'])
    .default('web')
    .describe('who reads pages: this process, or a reader service (Jina’s form)'),
  url: z
    .string()
    .superRefine(noKeyIn)
    .default('')
    .describe('address of the reader service; empty = Jina’s'),
  keyEnv: z.string().default('').describe('environment variable with the reader service’s API key'),
  characters: positiveInt.default(20_000).describe('most characters that are taken of a page'),
  shownCharacters: positiveInt
    .default(4000)
    .describe(
      'most characters of a page that `browse` shows; with a summariser its summary is shown',
    ),
  extract: z
    .enum(extracts)
    .default('readable')
    .describe('what of HTML is taken: the main text, or all that can be seen'),
  timeoutMs: positiveInt.default(20_000).describe('for one request'),
  bytesMax: positiveInt.default(8 * 1024 * 1024).describe('most bytes of a page'),
  requestsPerSecond: atLeastZero.default(0).describe('most requests a second; 0 = no limit'),
  robots: z.boolean().default(true).describe('keep to what a site’s robots.txt allows'),
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
          'what the policy may call: python, search, browse, or none; a search provider brings search with it',
        ),
      python: pythonSettings.prefault({}),
      search: searchSettings.prefault({}),
      pages: pagesSettings.prefault({}),
      summariser: textModelSettings
        .prefault({ temperature: 0.6, topP: 0.95, maxTokens: 4096 })
        .describe('the model that sums up what search and browse read; none without a url'),
      packages: z
        .preprocess(
          (given) => (given === 'all' ? given : listed(given)),
          z.union([z.literal('all'), z.array(z.string())]),
        )
        .prefault('all')
        .describe(
          'packages that Python programs can import: all that were added (millrace tools python add), some of them, or none',
        ),
      mcp: mcpSettings,
      cache: z
        .string()
        .default('')
        .describe(
          'file that keeps what tools brought in, for all runs; empty = the user’s (millrace cache ls); none = nothing is kept',
        ),
      cacheDays: atLeastZero.default(0).describe('days that what is kept counts; 0 = for ever'),
      cachePython: z.boolean().default(false).describe('keep outputs of Python programs too'),
    }),
  )
  .prefault({});

/** `toolSettings` with all defaults filled in. */
export type ToolSettings = z.infer<typeof toolSettings>;
