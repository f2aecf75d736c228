/**
 * SGLang: token ids through `/generate`, LoRA adapters and all weights from a folder while it runs.
 *
 * Tokens are read from `meta_info.output_token_logprobs`, which holds every sampled one, the one that ended
 * the text too. Its `ignore_eos` would ignore the stop tokens too, so a request with stop tokens also ends at
 * the model's own end token, which such requests name anyway. `meta_info.weight_version` says which weights
 * the server had when it answered.
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

/** [log-prob, token id, text or null] */
type Entry = readonly [number, number, unknown];

interface MetaInfo {
  readonly output_token_logprobs?: readonly Entry[];
  readonly input_token_logprobs?: readonly Entry[];
  readonly output_top_logprobs?: readonly (readonly Entry[] | null)[];
  readonly finish_reason?: { readonly type?: unknown; readonly message?: unknown } | null;
  readonly weight_version?: string | null;
  /** Of newer servers: which weights made which tokens. */
  readonly weight_versions?: readonly { readonly version: string }[];
  readonly prompt_tokens?: number;
  readonly cached_tokens?: number;
}

/** The part of `/get_server_info` that is read. */
interface ServerArguments {
  readonly dtype?: string;
  readonly quantization?: string | null;
  readonly device?: string | null;
}

/**
 * The wire of SGLang. It refuses a repetition penalty, under which its log-probs are not the policy's own.
 */
export const sglang: ServerWire = {
  name: 'SGLang',
  refused: ({ repetitionPenalty = 1 }) =>
    repetitionPenalty === 1
      ? null
      : 'SGLang reports log-probs of the penalised logits, and training needs the policy’s own: leave repetitionPenalty at 1',
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
    { adapter },
    seed,
  ) => ({
    path: '/generate',
    body: {
      input_ids: tokenList(tokens),
      sampling_params: {
        max_new_tokens: maxTokens,
        ...samplingParameters(how),
        sampling_seed: seed,
        ignore_eos: stopTokens.length === 0,
        stop_token_ids: stopTokens,
        ...(stopTexts.length === 0
          ? {}
          : {
              stop: stopTexts,
              no_stop_trim: true,
              skip_special_tokens: false,
              spaces_between_special_tokens: false,
            }),
      },
      return_logprob: true,
      logprob_start_len: -1,
      top_logprobs_num: topLogProbs > 0 ? logProbsPerToken : 0,
      stream: false,
      ...(adapter === null ? {} : { lora_path: adapter }),
    },
  }),
  read(body): Generated {
    const info = (body as { meta_info?: MetaInfo } | null)?.meta_info;
    if (!info) throw new Error('the reply has no meta_info');
    if (info.finish_reason?.type === 'abort') {
      throw new Error(`the server aborted the request: ${String(info.finish_reason.message)}`);
    }
    const versions = new Set(info.weight_versions?.map(({ version }) => version));
    if (versions.size > 1)
      throw new Error(
        `one reply was generated with several versions of the weights: ${[...versions].join(', ')}`,
      );
    const entries = info.output_token_logprobs;
    if (!Array.isArray(entries)) throw new Error('the reply has no output_token_logprobs');
    return {
      tokens: numbers(
        entries.map(([, token]) => token),
        'output_token_logprobs',
      ),
      logProbs: numbers(
        entries.map(([logProb]) => logProb),
        'output_token_logprobs',
      ),
      topLogProbs: entries.map((entry, place) => top(entry, info.output_top_logprobs?.[place])),
      prefillTokens: (info.prompt_tokens ?? 0) - (info.cached_tokens ?? 0),
      label: info.weight_version ?? null,
    };
  },
  score: {
    request: (tokens, { adapter }) => ({
      path: '/generate',
      body: {
        input_ids: tokenList(tokens),
        sampling_params: { max_new_tokens: 1, ...samplingParameters({ temperature: 1 }) },
        return_logprob: true,
        logprob_start_len: 0,
        stream: false,
        ...(adapter === null ? {} : { lora_path: adapter }),
      },
    }),
    read(body, tokens) {
      const info = (body as { meta_info?: MetaInfo } | null)?.meta_info;
      const entries = info?.input_token_logprobs;
      if (!Array.isArray(entries)) throw new Error('the reply has no input_token_logprobs');
      const places = entries.length - tokens.length;
      return tokens.map((token, place) => {
        if (place === 0) return 0;
        const [logProb, id] = (entries[place + places] ?? []) as Partial<Entry>;
        return id === token ? Number(logProb) : Number.NaN;
      });
    },
  },
  tokenize: tokenizeRoute,
  text: { plainPrompt: {}, continued: {}, keptStop: { no_stop_trim: true } },
  models: listedModels,
  contextMax: { ...listedContextMax, flag: '--context-length' },
  facts: {
    path: '/get_server_info',
    read(body) {
      const { dtype, quantization, device } = (body ?? {}) as ServerArguments;
      return {
        dtype: quantization ?? (dtype === 'auto' ? null : (dtype ?? null)),
        device: device ?? null,
      };
    },
  },
  seedsNeed: '--enable-deterministic-inference',
  adapters: adaptersBelow(''),
  replacement: {
    load: (label, folder) => ({
      path: '/update_weights_from_disk',
      body: {
        model_path: folder,
        weight_version: label,
        abort_all_requests: false,
        flush_cache: true,
      },
    }),
    reported: true,
  },
};

function top([logProb, token]: Entry, of: readonly Entry[] | null | undefined): number[] {
  if (!of || of.length === 0) return [];
  const listed = of.map(([each]) => each).sort((a, b) => b - a);
  return of.some(([, id]) => id === token) ? listed : [...listed, logProb];
}
