/**
 * One generation from whichever server of a pool answers.
 */
import { draws } from '../../base/draws.ts';
import { MillraceError } from '../../base/errors.ts';
import type { GenerateRequest } from '../engine.ts';
import { checked } from './checkReply.ts';
import type { ServerPool } from './serverPool.ts';
import type { Generated, ServerWire, Serving } from './serverWire.ts';

const SEEDS = 2 ** 31;

export interface TokenServers {
  readonly pool: ServerPool;
  readonly wire: ServerWire;
  /** Ids of its replies are below it; no bound where it is left out. */
  readonly vocabSize?: number;
}

/**
 * Fails with `MODEL_REFUSED`, `MODEL_DOWN` (no server answers, or none with what can be used), `MODEL_ACCESS` (an adapter
 * that a server does not know), `WEIGHTS_LOST` and `WEIGHTS_UNKNOWN` (checkReply.ts).
 */
export async function askTokens(
  { pool, wire, ...known }: TokenServers,
  request: GenerateRequest,
  serving: Serving,
  signal?: AbortSignal,
): Promise<Generated> {
  const { tokens, draws: key, maxTokens } = request;
  // Like the embedded engine's draws, the seed belongs to a place in the context.
  const seed = draws(...key).integer(tokens.length, SEEDS);
  const result = await pool.ask(
    {
      ...wire.generate(request, serving, seed),
      // Rollouts of a question begin alike, and their keys differ in the last part.
      session: JSON.stringify(key.slice(0, -1)),
      read: (body) => checked(wire.read(body), { ...known, maxTokens, serving }),
    },
    signal,
  );
  if (result.kind === 'answer') return result.value;
  throw new MillraceError(
    result.kind === 'refused' ? 'MODEL_REFUSED' : 'MODEL_DOWN',
    result.kind === 'refused'
      ? `the server refuses the request: ${result.reason}`
      : `no server answers: ${result.reason}. Check the servers and start the run again.`,
  );
}
