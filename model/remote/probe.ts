/**
 * What servers are found to do before anything is asked of them in earnest.
 */
import { MillraceError } from '../../base/errors.ts';
import { askTokens } from './askTokens.ts';
import type { ServerPool } from './serverPool.ts';
import type { Serving, TokenWire } from './tokenWire.ts';

/** Log-probs of the same token may differ by this much between two calls, for the rounding of half precision. */
const PROBE_TOLERANCE = 0.05;

/** The longest context in tokens that all servers allow. */
export async function contextMaxOf(pool: ServerPool): Promise<number> {
  const limits = await Promise.all(
    pool.urls.map(async (url, server) => {
      const result = await pool.askServer(server, '/v1/models');
      if (result.kind !== 'answer') {
        throw new MillraceError('MODEL_DOWN', `${url} does not answer: ${result.reason}`);
      }
      const models = (result.value as { data?: { max_model_len?: unknown }[] } | null)?.data ?? [];
      const limit = models.map((each) => each.max_model_len).find((each) => Number(each) > 0);
      if (limit !== undefined) return Number(limit);
      throw new MillraceError(
        'USAGE',
        `${url} does not say how long a context may be: set contextMax`,
      );
    }),
  );
  return Math.min(...limits);
}

/** Whether the highest log-prob after one token changes with the temperature: then it is not that of temperature 1. */
export async function isTempered(
  pool: ServerPool,
  wire: TokenWire,
  serving: Serving,
): Promise<boolean> {
  const probe = async (temperature: number) => {
    const request = {
      tokens: Int32Array.of(0),
      maxTokens: 1,
      temperature,
      stopTokens: [],
      draws: ['probe', 0],
      topLogProbs: 1,
    };
    const made = await askTokens(pool, wire, request, serving);
    return made.topLogProbs[0]?.[0] ?? Number.NaN;
  };
  const [atOne, atTwo] = [await probe(1), await probe(2)];
  if (Number.isNaN(atOne) || Number.isNaN(atTwo)) {
    throw new MillraceError(
      'MODEL_REPLY',
      'the servers give no top log-probs: training needs them',
    );
  }
  return Math.abs(atOne - atTwo) > PROBE_TOLERANCE;
}
