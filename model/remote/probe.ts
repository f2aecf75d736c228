/**
 * What servers are found to do before anything is asked of them in earnest.
 */
import { MillraceError } from '../../base/errors.ts';
import { askTokens, type TokenServers } from './askTokens.ts';
import type { Serving } from './serverWire.ts';

/** Log-probs of the same token may differ by this much between two calls, for the rounding of half precision. */
const PROBE_TOLERANCE = 0.05;

/** The longest context in tokens that all servers allow. Fails with code `USAGE` where they do not say. */
export async function contextMaxOf({ pool, wire }: TokenServers): Promise<number> {
  const { contextMax } = wire;
  if (contextMax === undefined) {
    throw new MillraceError(
      'USAGE',
      `${wire.name} does not say how long a context may be: set contextMax`,
    );
  }
  const limits = await Promise.all(
    pool.urls.map(async (url, server) => {
      const result = await pool.askServer(server, contextMax.path);
      if (result.kind !== 'answer') {
        throw new MillraceError('MODEL_DOWN', `${url} does not answer: ${result.reason}`);
      }
      const limit = contextMax.read(result.value);
      if (limit !== null) return limit;
      throw new MillraceError(
        'USAGE',
        `${url} does not say how long a context may be: set contextMax`,
      );
    }),
  );
  return Math.min(...limits);
}

/** Whether the highest log-prob after one token changes with the temperature: then it is not that of temperature 1. */
export async function isTempered(servers: TokenServers, serving: Serving): Promise<boolean> {
  const probe = async (temperature: number) => {
    const request = {
      tokens: Int32Array.of(0),
      maxTokens: 1,
      temperature,
      stopTokens: [],
      draws: ['probe', 0],
      topLogProbs: 1,
    };
    const made = await askTokens(servers, request, serving);
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
