/**
 * One generation from whichever server of a pool answers.
 */

import { draws } from '../../base/draws.ts';
import { MillraceError } from '../../base/errors.ts';
import type { GenerateRequest, Generation } from '../engine.ts';
import type { ServerPool } from './serverPool.ts';
import type { Generated, Serving, TokenWire } from './tokenWire.ts';

const SEEDS = 2 ** 31;
/** What SGLang calls the weights that it was started with. */
const AT_START = 'default';

/**
 * Fails with `MODEL_REFUSED`, `MODEL_DOWN`, `MODEL_ACCESS` (an adapter that a server does not know), `WEIGHTS_LOST` (the
 * weights of its start answered), or `WEIGHTS_UNKNOWN` (others did).
 */
export async function askTokens(
  pool: ServerPool,
  wire: TokenWire,
  request: GenerateRequest,
  serving: Serving,
  signal?: AbortSignal,
): Promise<Generated> {
  const { tokens, draws: key } = request;
  // Like the embedded engine's draws, the seed belongs to a place in the context.
  const seed = draws(...key).integer(tokens.length, SEEDS);
  const result = await pool.ask(
    {
      path: wire.path,
      body: wire.body(request, serving, seed),
      // Rollouts of a question begin alike, and their keys differ in the last part.
      session: JSON.stringify(key.slice(0, -1)),
      read: (body) => checked(wire.read(body), serving),
    },
    signal,
  );
  if (result.kind === 'answer') return result.value;
  throw new MillraceError(
    result.kind === 'refused' ? 'MODEL_REFUSED' : 'MODEL_DOWN',
    result.kind === 'refused'
      ? `the server refuses the request: ${result.reason}`
      : `no server answers: ${result.reason}. See to them and start the run again.`,
  );
}

function checked(made: Generated, { label, reported }: Serving): Generated {
  if (made.tokens.length !== made.logProbs.length) {
    throw new Error(`${made.tokens.length} tokens came with ${made.logProbs.length} log-probs`);
  }
  if (!reported || made.label === null || made.label === label) return made;
  if (made.label === AT_START) {
    throw new MillraceError('WEIGHTS_LOST', `a server was started anew and has lost '${label}'`);
  }
  throw new MillraceError(
    'WEIGHTS_UNKNOWN',
    `a server answered with weights '${made.label}' and not '${label}': something else loads weights into it`,
  );
}

/** Fails with code `MODEL_REPLY` when the server ended where the request does not say so. */
export function generationOf(
  made: Generated,
  request: GenerateRequest,
  version: number,
): Generation {
  const { stopTokens, maxTokens, topLogProbs } = request;
  const last = made.tokens.at(-1);
  const stopped = last !== undefined && stopTokens.includes(last);
  if (!stopped && made.tokens.length < maxTokens) {
    throw new MillraceError(
      'MODEL_REPLY',
      `a server ended after ${made.tokens.length} of ${maxTokens} tokens at token ${last}, which is no stop token: name the ` +
        "model's end token among the stop tokens, and start vLLM with --generation-config vllm",
    );
  }
  return {
    tokens: Int32Array.from(made.tokens),
    logProbs: Float32Array.from(made.logProbs),
    finish: stopped ? 'stop' : 'length',
    topLogProbs: made.topLogProbs.slice(0, topLogProbs),
    version,
  };
}
