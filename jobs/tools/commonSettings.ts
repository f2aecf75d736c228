/** Settings under `tools` that several tools share: the model they ask, and the cache. */
import { z } from 'zod';
import { textModelSettings } from '../../model/text/index.ts';
import { filesSettings, visionSettings } from './filesSettings.ts';
import { listed } from './listed.ts';
import { mcpSettings } from './mcpTools.ts';
import { pagesSettings } from './pagesSettings.ts';
import { pythonSettings } from './pythonOf.ts';
import { searchSettings } from './searchSettings.ts';

export const commonSettings = {
  python: pythonSettings.prefault({}),
  search: searchSettings.prefault({}),
  pages: pagesSettings.prefault({}),
  summariser: textModelSettings
    .prefault({ temperature: 0.6, topP: 0.95, maxTokens: 4096 })
    .describe('model that summarises what search and browse read; no url = no summaries'),
  files: filesSettings.prefault({}),
  vision: visionSettings,
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
  cacheDays: z
    .number()
    .nonnegative()
    .default(0)
    .describe('days for which cached results are valid; 0 = forever'),
  cachePython: z.boolean().default(false).describe('also cache outputs of Python programs'),
};

const filled = z.object(commonSettings);
/** `commonSettings` with all defaults filled in. */
export type CommonSettings = z.infer<typeof filled>;
