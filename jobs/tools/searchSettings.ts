/** The settings `tools.search`: what searches, and how much is shown. */
import { z } from 'zod';
import { keylessAddress } from '../../base/http/index.ts';
import { fusionMethods, passageForms } from '../../operators/tools/retrieval/index.ts';
import { providerKinds } from '../../operators/tools/web/providers/index.ts';
import { positiveInt } from '../policySettings.ts';

const webNames = Object.keys(providerKinds);
const web = Object.entries(providerKinds).map(([name, { about }]) => `${name} (${about})`);
const kinds = Object.values(providerKinds);
/** A provider's own settings are checked here and used there. */
const ownSettings: Record<never, z.ZodType> = Object.assign(
  {},
  ...kinds.map(({ settings }) => settings),
);
const atLeastZero = z.number().nonnegative();

/** `tools.search`. */
export const searchSettings = z.object({
  provider: z
    .enum(['corpus', 'retriever', ...webNames, 'cache'])
    .default('corpus')
    .describe(
      `what to search: the documents of \`corpus\`; a retriever (docs/retrieval.md); the web by ${web.join(', ')}; cache = only cached results`,
    ),
  url: keylessAddress
    .default('')
    .describe(
      'URL of the provider, in which {query} may stand for the query, or of a retriever’s server; empty = the provider’s own',
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
      `environment variables that hold API keys, comma-separated; empty = ${kinds.flatMap(({ keyEnv = [] }) => keyEnv).join(', ')}`,
    ),
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
  emptyTries: positiveInt
    .default(1)
    .describe(
      'attempts per search that finds nothing, whatever searches; the papers’ training: 3 or 4, without a wait',
    ),
  retryDelayMs: atLeastZero.default(5000).describe('wait between attempts'),
  requestsPerSecond: atLeastZero.default(0).describe('maximum searches per second; 0 = no limit'),
  timeoutMs: positiveInt.default(60_000).describe('time limit per request'),
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
  ...ownSettings,
});
