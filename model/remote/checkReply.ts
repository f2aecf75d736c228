/**
 * Checks a server's reply before it becomes data: what a trainer could not learn from, or would learn wrongly
 * from, is refused.
 */

import { MillraceError } from '../../base/index.ts';
import { counted } from '../../base/text/index.ts';
import type { GenerateRequest, Generation } from '../engine.ts';
import { StopTexts } from '../rollout/stopTexts.ts';
import type { TokenBytes } from '../rollout/tokenBytes.ts';
import { isLabel } from './publish.ts';
import type { Generated, Serving } from './serverWire.ts';

/** SGLang's name for the weights that it was started with. */
const AT_START = 'default';
/** For an unknown vocabulary: no id can be this large, and it does not fit the stored tokens (32 bits). */
const ANY_VOCABULARY = 2 ** 31;
/** In half precision a log-prob of 0 may come out slightly above it. */
const ROUNDING = 1e-3;

export interface Expected {
  /** The requested maximum of tokens. */
  readonly maxTokens: number;
  readonly serving: Serving;
  /** Ids are below it; below 2^31 if it is unknown. */
  readonly vocabSize?: number;
}

/**
 * What was generated, its log-probs at most 0. Throws when tokens are not ids of the vocabulary or more than
 * were requested, and when log-probs are missing, not finite or positive; the server is then asked another
 * time. Fails with `WEIGHTS_LOST` (the weights of its start answered) and `WEIGHTS_UNKNOWN` (others did).
 */
export function checked(made: Generated, expected: Expected): Generated {
  const { tokens, logProbs, topLogProbs } = made;
  const { maxTokens, serving, vocabSize = ANY_VOCABULARY } = expected;
  if (tokens.length !== logProbs.length) {
    throw new Error(
      `${counted(tokens.length, 'token')} came with ${counted(logProbs.length, 'log-prob')}`,
    );
  }
  if (tokens.length > maxTokens) {
    throw new Error(
      `${counted(tokens.length, 'token')} came, but only ${maxTokens} were requested`,
    );
  }
  const noId = tokens.findIndex(
    (token) => !(Number.isInteger(token) && token >= 0 && token < vocabSize),
  );
  if (noId >= 0) {
    const vocabulary = vocabSize === ANY_VOCABULARY ? '' : ` (the vocabulary has ${vocabSize})`;
    throw new Error(
      `token ${noId} of the reply is ${tokens[noId]}, which is not a token id${vocabulary}`,
    );
  }
  const noLogProb = logProbs.findIndex((each) => !(Number.isFinite(each) && each <= ROUNDING));
  if (noLogProb >= 0) {
    throw new Error(`the log-prob of token ${noLogProb} of the reply is ${logProbs[noLogProb]}`);
  }
  const isWrong = (each: number): boolean => Number.isNaN(each) || each > ROUNDING;
  const noTops = topLogProbs.findIndex((tops) => tops.some(isWrong));
  if (noTops >= 0) {
    const wrong = topLogProbs[noTops]!.find(isWrong);
    throw new Error(`a top log-prob of token ${noTops} of the reply is ${wrong}`);
  }
  checkLabel(made, serving);
  return { ...made, logProbs: atMostZero(logProbs), topLogProbs: topLogProbs.map(atMostZero) };
}

/** Most lists already are. */
function atMostZero(logProbs: readonly number[]): readonly number[] {
  return logProbs.some((each) => each > 0) ? logProbs.map((each) => Math.min(0, each)) : logProbs;
}

function checkLabel({ label: said }: Generated, { label, reported }: Serving): void {
  if (!reported || said === null || said === label) return;
  if (said === AT_START) {
    throw new MillraceError('WEIGHTS_LOST', `a server was restarted and has lost '${label}'`);
  }
  if (isLabel(said)) {
    throw new MillraceError(
      'WEIGHTS_LOST',
      `a server answered with weights '${said}' instead of '${label}': it did not answer when those were loaded, or another run loads weights into it`,
    );
  }
  throw new MillraceError(
    'WEIGHTS_UNKNOWN',
    `a server answered with weights '${said}' instead of '${label}': something else loads weights into it`,
  );
}

/** What a generation is made from besides the reply. */
export interface MadeBy {
  readonly version: number;
  /** For finding stop texts. */
  readonly tokenBytes: TokenBytes | undefined;
}

/**
 * The reply as a generation. Where it ends is decided here, by the tokens: a server that looks for stop texts
 * in what it has decoded may go on a few tokens after one, and what comes after is dropped. Fails with code
 * `MODEL_REPLY` when the server ended, or went on, where the request does not say so.
 */
export function generationOf(
  made: Generated,
  request: GenerateRequest,
  { version, tokenBytes }: MadeBy,
): Generation {
  const { stopTexts = [], maxTokens, topLogProbs } = request;
  const found = endOf(made.tokens, request, tokenBytes);
  const end = found?.end ?? made.tokens.length;
  const last = made.tokens.at(-1);
  if (found?.stopText === undefined && found !== null && end < made.tokens.length) {
    throw new MillraceError(
      'MODEL_REPLY',
      `a server continued after stop token ${made.tokens[end - 1]}: its wire must send the stop tokens`,
    );
  }
  if (found === null && made.tokens.length < maxTokens) {
    throw new MillraceError(
      'MODEL_REPLY',
      `a server ended after ${made.tokens.length} of ${maxTokens} tokens at token ${last}, which is not a stop token${stopTexts.length > 0 ? ' and completes no stop text' : ''}: add the ` +
        "model's end token to the stop tokens, and start vLLM with --generation-config vllm",
    );
  }
  return {
    tokens: Int32Array.from(made.tokens.slice(0, end)),
    logProbs: Float32Array.from(made.logProbs.slice(0, end)),
    finish: found === null ? 'length' : 'stop',
    topLogProbs: made.topLogProbs.slice(0, Math.min(topLogProbs, end)),
    version,
    ...(found?.stopText === undefined ? {} : { stopText: found.stopText }),
  };
}

/**
 * Whether a server ended without reason: before the maximum of tokens, at no stop token, with no stop text
 * completed.
 */
export function endedUnasked(
  { tokens }: Generated,
  request: GenerateRequest,
  tokenBytes: TokenBytes | undefined,
): boolean {
  return tokens.length < request.maxTokens && endOf(tokens, request, tokenBytes) === null;
}

/**
 * How many tokens there are up to the first that ends the generation, and the stop text that it completes;
 * null = none does.
 */
function endOf(
  tokens: readonly number[],
  { tokens: context, stopTokens, stopTexts = [], stopTextsFrom = context.length }: GenerateRequest,
  tokenBytes: TokenBytes | undefined,
): { readonly end: number; readonly stopText?: string } | null {
  const stops = new StopTexts(stopTexts, tokenBytes);
  for (const token of context.subarray(stopTextsFrom)) stops.completedBy(token);
  for (const [place, token] of tokens.entries()) {
    const stopText = stops.completedBy(token);
    if (stopText !== undefined) return { end: place + 1, stopText };
    if (stopTokens.includes(token)) return { end: place + 1 };
  }
  return null;
}
