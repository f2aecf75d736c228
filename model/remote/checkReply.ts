/**
 * A server's reply before it is data: what a trainer could not learn from, or would learn wrongly from, is refused.
 */
import { MillraceError } from '../../base/errors.ts';
import type { GenerateRequest, Generation } from '../engine.ts';
import type { Generated, Serving } from './serverWire.ts';

/** What SGLang calls the weights that it was started with. */
const AT_START = 'default';
/** A log-prob of 0 may come out of half precision as a little more than that. */
const ROUNDING = 1e-3;

export interface Expected {
  /** Most tokens that were asked for. */
  readonly maxTokens: number;
  readonly serving: Serving;
  /** Ids are below it; no bound where it is not known. */
  readonly vocabSize?: number;
}

/**
 * What was generated, its log-probs at most 0. Throws when tokens are not ids of the vocabulary or more than were asked
 * for, and when log-probs are missing, not finite or positive; the server is then asked another time. Fails with
 * `WEIGHTS_LOST` (the weights of its start answered) and `WEIGHTS_UNKNOWN` (others did).
 */
export function checked(made: Generated, expected: Expected): Generated {
  const { tokens, logProbs, topLogProbs } = made;
  const { maxTokens, serving, vocabSize = Number.POSITIVE_INFINITY } = expected;
  if (tokens.length !== logProbs.length) {
    throw new Error(`${tokens.length} tokens came with ${logProbs.length} log-probs`);
  }
  if (tokens.length > maxTokens) {
    throw new Error(`${tokens.length} tokens came and ${maxTokens} were asked for`);
  }
  for (const [place, token] of tokens.entries()) {
    if (!Number.isInteger(token) || token < 0 || token >= vocabSize) {
      const vocabulary = Number.isFinite(vocabSize) ? `, the vocabulary has ${vocabSize}` : '';
      throw new Error(`token ${place} of the reply is ${token}: no token id${vocabulary}`);
    }
  }
  for (const [place, logProb] of logProbs.entries()) {
    if (!Number.isFinite(logProb) || logProb > ROUNDING) {
      throw new Error(`the log-prob of token ${place} of the reply is ${logProb}`);
    }
  }
  for (const [place, tops] of topLogProbs.entries()) {
    const wrong = tops.find((each) => Number.isNaN(each) || each > ROUNDING);
    if (wrong !== undefined) {
      throw new Error(`a top log-prob of token ${place} of the reply is ${wrong}`);
    }
  }
  checkLabel(made, serving);
  return {
    ...made,
    logProbs: logProbs.map(atMostZero),
    topLogProbs: topLogProbs.map((tops) => tops.map(atMostZero)),
  };
}

const atMostZero = (logProb: number): number => Math.min(0, logProb);

function checkLabel({ label: said }: Generated, { label, reported }: Serving): void {
  if (!reported || said === null || said === label) return;
  if (said === AT_START) {
    throw new MillraceError('WEIGHTS_LOST', `a server was restarted and has lost '${label}'`);
  }
  throw new MillraceError(
    'WEIGHTS_UNKNOWN',
    `a server answered with weights '${said}' and not '${label}': something else loads weights into it`,
  );
}

/** Fails with code `MODEL_REPLY` when the server ended, or went on, where the request does not say so. */
export function generationOf(
  made: Generated,
  request: GenerateRequest,
  version: number,
): Generation {
  const { stopTokens, maxTokens, topLogProbs } = request;
  const last = made.tokens.at(-1);
  const stopped = last !== undefined && stopTokens.includes(last);
  const passed = made.tokens.slice(0, -1).find((token) => stopTokens.includes(token));
  if (passed !== undefined) {
    throw new MillraceError(
      'MODEL_REPLY',
      `a server went on after stop token ${passed}: its wire has to send the stop tokens`,
    );
  }
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
