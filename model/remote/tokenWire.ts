/**
 * How a server takes token ids and gives token ids and log-probs back: one of these for each kind of server.
 */
import type { GenerateRequest } from '../engine.ts';
import { type Sampling, samplingIn } from '../sampling.ts';

/** What the servers are to answer with. */
export interface Serving {
  /** Name of the model or adapter that a request asks for. */
  readonly model: string;
  /** Unlike any other weights': keeps caches of different weights apart. */
  readonly label: string;
  /** The server was told this label and says it with each answer. */
  readonly reported?: boolean;
}

/** What a server generated: parallel lists. */
export interface Generated {
  readonly tokens: readonly number[];
  readonly logProbs: readonly number[];
  /** Per token the highest log-probs in falling order and the sampled one's where it is not among them; or empty. */
  readonly topLogProbs: readonly (readonly number[])[];
  /** Prompt tokens that were computed, not found in a cache. */
  readonly prefillTokens: number;
  /** The weights that answered, where the server says so. */
  readonly label: string | null;
}

export interface TokenWire {
  readonly path: string;
  /** Why servers of this kind would not do what the request asks for; null = they do. */
  refused(request: GenerateRequest): string | null;
  body(request: GenerateRequest, serving: Serving, seed: number): unknown;
  /** Throws on a reply of another shape. */
  read(body: unknown): Generated;
}

/** Log-probs that are reported for a token where a step entropy needs them. */
export const TOP_LOG_PROBS = 10;

/** Every parameter: servers fill gaps from the model's own file. */
export function samplingParameters(sampling: Sampling) {
  const { temperature, topP, topK, minP, repetitionPenalty } = samplingIn(sampling);
  return {
    temperature,
    top_p: topP,
    top_k: topK === 0 ? -1 : topK,
    min_p: minP,
    repetition_penalty: repetitionPenalty,
  };
}

/** A list of numbers, or an error that names the field. */
export function numbers(value: unknown, field: string): readonly number[] {
  if (Array.isArray(value) && value.every((each) => typeof each === 'number')) return value;
  throw new Error(`the reply has no numbers in ${field}`);
}
