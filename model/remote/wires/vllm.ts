/**
 * vLLM: token ids through `/v1/completions`, LoRA adapters and all weights from a folder while it runs.
 *
 * All weights go by its development routes (`VLLM_SERVER_DEV_MODE=1`), which no key protects:
 * `/collective_rpc` runs the worker's `reload_weights`, `/update_weight_version` labels what was loaded. A
 * restarted server has the label of its start; completions do not have it, so it is requested separately
 * (`/weight_info`).
 *
 * - `ignore_eos` with all stop tokens as `stop_token_ids`: generation ends where the request says and nowhere
 *   else. The token that ended it is in `token_ids` although it is not in the text.
 * - Every sampling parameter is sent: vLLM takes what is left out from the model's `generation_config.json`.
 * - Stop texts are found in decoded text, special tokens included; the token that completes one is the last
 *   of `token_ids`.
 * - `cache_salt` keeps the prefix caches of different weights apart.
 * - Top log-probs are keyed by the token's text, under which different tokens fall together, unless
 *   `return_tokens_as_token_ids` is set.
 */
import { adaptersBelow } from '../adapterRoutes.ts';
import {
  type Generated,
  listedContextMax,
  listedModels,
  numbers,
  type ServerWire,
  samplingParameters,
  TOP_LOG_PROBS,
  tokenizeRoute,
  tokenList,
} from '../serverWire.ts';

interface Choice {
  readonly token_ids?: unknown;
  readonly finish_reason?: unknown;
  readonly prompt_logprobs?: unknown;
  readonly logprobs?: { readonly token_logprobs?: unknown; readonly top_logprobs?: unknown } | null;
}

/** Log-probs by token id, as a text. */
type PromptLogProbs = Readonly<Record<string, { readonly logprob?: unknown }>> | null | undefined;

interface Completion {
  readonly choices?: readonly Choice[];
  readonly usage?: {
    readonly prompt_tokens?: number;
    readonly prompt_tokens_details?: { readonly cached_tokens?: number } | null;
  };
}

/** The part of `/server_info` that is read. */
interface ServerInfo {
  readonly vllm_config?: {
    readonly model_config?: { readonly dtype?: string; readonly quantization?: string | null };
    readonly device_config?: { readonly device?: string };
  };
}

/** A server refuses more, unless it was started with a larger --max-logprobs. */
const MOST_LOG_PROBS = 20;

/** The wire of vLLM, 0.11 or newer; `replacement` needs a newer one (0.32 was run). */
export const vllm: ServerWire = {
  name: 'vLLM',
  refused: () => null,
  generate: (
    {
      tokens,
      maxTokens,
      stopTokens,
      stopTexts = [],
      topLogProbs,
      logProbsPerToken = TOP_LOG_PROBS,
      ...how
    },
    serving,
    seed,
  ) => ({
    path: '/v1/completions',
    body: {
      model: serving.adapter ?? serving.model,
      prompt: tokenList(tokens),
      max_tokens: maxTokens,
      ...samplingParameters(how),
      seed,
      n: 1,
      stream: false,
      ignore_eos: true,
      stop_token_ids: stopTokens,
      ...(stopTexts.length === 0
        ? {}
        : {
            stop: stopTexts,
            include_stop_str_in_output: true,
            skip_special_tokens: false,
            spaces_between_special_tokens: false,
          }),
      logprobs: topLogProbs > 0 ? Math.min(logProbsPerToken, MOST_LOG_PROBS) : 0,
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
      throw new Error('the reply has no token_ids: use vLLM 0.11 or newer');
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
  score: {
    request: (tokens, serving) => ({
      path: '/v1/completions',
      body: {
        model: serving.adapter ?? serving.model,
        prompt: tokenList(tokens),
        max_tokens: 1,
        ...samplingParameters({ temperature: 1 }),
        ignore_eos: true,
        prompt_logprobs: 0,
        ...(serving.label === '' ? {} : { cache_salt: serving.label }),
      },
    }),
    read(body, tokens) {
      const { choices } = (body ?? {}) as Completion;
      const given = choices?.[0]?.prompt_logprobs;
      if (!Array.isArray(given)) throw new Error('the reply has no prompt_logprobs');
      return tokens.map((token, place) =>
        place === 0 ? 0 : Number((given[place] as PromptLogProbs)?.[String(token)]?.logprob),
      );
    },
  },
  namesModel: true,
  text: {
    plainPrompt: { add_special_tokens: false },
    continued: { add_generation_prompt: false },
    keptStop: { include_stop_str_in_output: true },
  },
  contextMax: { ...listedContextMax, flag: '--max-model-len' },
  facts: {
    path: '/server_info?config_format=json',
    read(body) {
      const { vllm_config: config } = (body ?? {}) as ServerInfo;
      const { dtype = null, quantization = null } = config?.model_config ?? {};
      return {
        dtype: quantization ?? dtype?.replace('torch.', '') ?? null,
        device: config?.device_config?.device ?? null,
      };
    },
  },
  models: listedModels,
  tokenize: tokenizeRoute,
  adapters: adaptersBelow('/v1'),
  replacement: {
    load: (label, folder) => [
      {
        path: '/collective_rpc',
        body: { method: 'reload_weights', kwargs: { weights_path: folder } },
      },
      { path: '/reset_prefix_cache', body: {} },
      { path: '/update_weight_version', body: { new_version: label } },
    ],
    reported: false,
    label: {
      path: '/weight_info',
      read: (body) => (body as { weight_version?: string } | null)?.weight_version ?? null,
    },
    needs: 'VLLM_SERVER_DEV_MODE=1',
    // Its processor kernels keep a packed copy of the head, which reload_weights does not renew if it is
    // the embeddings (0.32).
    refused: ({ tied }, { device }) =>
      tied && device === 'cpu'
        ? 'vLLM on a CPU keeps the old output head when weights with tied embeddings are reloaded: publish adapters (engine.publish=adapter, trainer.adapterRank=16, trainer.adapterAs=adapter), or use a GPU or SGLang'
        : null,
  },
};

function tops(value: unknown): number[][] {
  if (!Array.isArray(value)) return [];
  return value.map((of: Readonly<Record<string, number>> | null) => {
    const listed = Object.values(of ?? {});
    // Where none were requested, each has one; V8 copies when it sorts.
    return listed.length < 2 ? listed : listed.sort((a, b) => b - a);
  });
}
