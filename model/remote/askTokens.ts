/**
 * One generation from any server of a pool, or from a given one.
 */
import { draws, MillraceError } from '../../base/index.ts';
import type { GenerateRequest } from '../engine.ts';
import { checked } from './checkReply.ts';
import { checkLost } from './forgotten.ts';
import type { PoolResult, ServerPool } from './serverPool.ts';
import type { Generated, ServerWire, Serving } from './serverWire.ts';

const SEEDS = 2 ** 31;

export interface TokenServers {
  readonly pool: ServerPool;
  readonly wire: ServerWire;
  /** Ids in its replies must be below this; no bound if left out. */
  readonly vocabSize?: number;
}

/** What was generated, and by which server. */
export interface Answered extends Generated {
  readonly server: number;
}

/**
 * Fails with `MODEL_REFUSED`, `MODEL_DOWN` (no server answers, or none with a usable answer), `MODEL_ACCESS`
 * (an adapter that a server does not know), `WEIGHTS_LOST` and `WEIGHTS_UNKNOWN` (checkReply.ts).
 */
export async function askTokens(
  servers: TokenServers,
  request: GenerateRequest,
  serving: Serving,
  signal?: AbortSignal,
): Promise<Answered> {
  const { draws: key } = request;
  const result = await servers.pool.ask(
    {
      ...servers.wire.generate(request, serving, requestSeed(request)),
      // Rollouts of a question begin alike, and their keys differ in the last part.
      session: JSON.stringify(key.slice(0, -1)),
      read: reading(servers, request, serving),
    },
    signal,
  );
  return answered(result, servers, serving);
}

/** The same from a single server. */
export async function askServerTokens(
  servers: TokenServers,
  server: number,
  request: GenerateRequest,
  serving: Serving,
): Promise<Answered> {
  const { path, body } = servers.wire.generate(request, serving, requestSeed(request));
  const read = reading(servers, request, serving);
  const result = await servers.pool.askServer(server, path, body, { patient: true, read });
  return answered(result as PoolResult<Generated>, servers, serving);
}

/** A server's seed. Like the embedded engine's draws, it belongs to a place in the context. */
export function requestSeed({
  tokens,
  draws: key,
}: Pick<GenerateRequest, 'tokens' | 'draws'>): number {
  return draws(...key).integer(tokens.length, SEEDS);
}

function reading(
  { wire, vocabSize }: TokenServers,
  { maxTokens }: GenerateRequest,
  serving: Serving,
): (body: unknown) => Generated {
  const known = vocabSize === undefined ? {} : { vocabSize };
  return (body) => checked(wire.read(body), { ...known, maxTokens, serving });
}

function answered(
  result: PoolResult<Generated>,
  { wire }: TokenServers,
  serving: Serving,
): Answered {
  if (result.kind === 'answer') return { ...result.value, server: result.server };
  if (result.kind === 'refused') checkLost(result.reason, wire, serving);
  throw new MillraceError(
    result.kind === 'refused' ? 'MODEL_REFUSED' : 'MODEL_DOWN',
    result.kind === 'refused'
      ? `the server refuses the request: ${result.reason}`
      : `${result.away ? 'no server answers' : 'no server gave a usable answer'}: ${result.reason}. Check the servers and start the run again.`,
  );
}
