/** The settings `tools.pages`: what reads pages, and how much of them is shown. */
import { z } from 'zod';
import { keylessAddress } from '../../base/http/index.ts';
import { extracts } from '../../operators/tools/pages/index.ts';
import { positiveInt } from '../policySettings.ts';

const atLeastZero = z.number().nonnegative();

/** `tools.pages`. */
export const pagesSettings = z.object({
  provider: z
    .enum(['web', 'reader'])
    .default('web')
    .describe('how pages are read: by this process, or by a reader service (Jina’s API)'),
  url: keylessAddress.default('').describe('URL of the reader service; empty = Jina’s'),
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
  timeoutMs: positiveInt.default(20_000).describe('time limit per request'),
  bytesMax: positiveInt.default(8 * 1024 * 1024).describe('maximum bytes of a page'),
  requestsPerSecond: atLeastZero.default(0).describe('maximum requests per second; 0 = no limit'),
  robots: z.boolean().default(true).describe('respect robots.txt'),
  privateAddresses: z
    .boolean()
    .default(false)
    .describe('allow pages at private, loopback and link-local addresses'),
});
