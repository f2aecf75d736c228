/**
 * vLLM: token ids through `/v1/completions`, LoRA adapters while it runs. It has no route that reads all weights from a
 * folder; `publishByRoute` takes one that it has been given.
 *
 * - `ignore_eos` with all stop tokens as `stop_token_ids`: generation ends where the request says and nowhere else. The
 *   token that ended it is in `token_ids` although it is not in the text.
 * - Every sampling parameter is sent: vLLM takes what is left out from the model's `generation_config.json`.
 * - `cache_salt` keeps the prefix caches of different weights apart.
 * - Top log-probs are keyed by the token's text, under which different tokens fall together, unless
 *   `return_tokens_as_token_ids` is set.
 */
import { adaptersBelow } from './adapterRoutes.ts';
import {
  type Generated,
  listedContextMax,
  numbers,
  type ServerWire,
  samplingParameters,
  TOP_LOG_PROBS,
} from './serverWire.ts';

interface Choice {
  readonly token_ids?: unknown;
  readonly finish_reason?: unknown;
  readonly logprobs?: { readonly token_logprobs?: unknown; readonly top_logprobs?: unknown } | null;
}

interface Completion {
  readonly choices?: readonly Choice[];
  readonly usage?: {
    readonly prompt_tokens?: number;
    readonly prompt_tokens_details?: { readonly cached_tokens?: number } | null;
  };
}

/** The wire of vLLM, 0.11 or newer. It has no `replacement`. */
export const vllm: ServerWire = {
  name: 'vLLM',
  refused: () => null,
  generate: ({ tokens, maxTokens, stopTokens, topLogProbs, ...how }, serving, seed) => ({
    path: '/v1/completions',
    body: {
      model: serving.adapter ?? serving.model,
      prompt: [...tokens],
      max_tokens: maxTokens,
      ...samplingParameters(how),
      seed,
      n: 1,
      stream: false,
      ignore_eos: true,
      stop_token_ids: stopTokens,
      logprobs: topLogProbs > 0 ? TOP_LOG_PROBS : 0,
      return_token_ids: true,
      return_tokens_as_token_ids: true,
      ...(serving.label === '' ? {} : { cache_salt: serving.label }),
    },
  }),
  read(body): Generated {
    const { choices, usage } = (body ?? {}) as Completion;
    const choice = choices?.[0];
    if (!choice) throw new Error('the reply has no choices');
    if (choice.finish_reason === 'abort') throw new Error('the server aborted the request');
    if (choice.token_ids === undefined || choice.token_ids === null) {
      throw new Error('the reply has no token_ids: vLLM 0.11 or newer gives them');
    }
    return {
      tokens: numbers(choice.token_ids, 'token_ids'),
      logProbs: numbers(choice.logprobs?.token_logprobs, 'logprobs.token_logprobs'),
      topLogProbs: tops(choice.logprobs?.top_logprobs),
      prefillTokens:
        (usage?.prompt_tokens ?? 0) - (usage?.prompt_tokens_details?.cached_tokens ?? 0),
      label: null,
    };
  },
  contextMax: listedContextMax,
  adapters: adaptersBelow('/v1'),
};

function tops(value: unknown): number[][] {
  if (!Array.isArray(value)) return [];
  return value.map((of: Readonly<Record<string, number>> | null) =>
    Object.values(of ?? {}).sort((a, b) => b - a),
  );
}
