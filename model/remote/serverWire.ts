/**
 * A server's wire: the requests and replies of a kind of inference server, as a value. Those that
 * settings choose are in `wires/`; `RemoteEngine` takes any other.
 *
 * A wire is pure: it makes bodies and reads replies. Retries, and what to trust, are not its
 * concern.
 */
import type { GenerateRequest } from '../engine.ts';
import { type Sampling, samplingIn } from '../sampling.ts';
import type { TextExtensions } from '../text/textExtensions.ts';

/** The weights that a request asks for. */
export interface Serving {
  /** Name of the base model on the servers; empty if they need none. */
  readonly model: string;
  /** Name of the adapter over it; null = the base model itself, with whatever weights it has now. */
  readonly adapter: string | null;
  /**
   * Unique to these weights: keeps caches of different weights apart. Empty for those that the servers began
   * with.
   */
  readonly label: string;
  /** The servers were given this label, and their wire reads it from each answer. */
  readonly reported?: boolean;
}

/** What a server generated: parallel lists. */
export interface Generated {
  /** Ids, the one that ended the generation included. */
  readonly tokens: readonly number[];
  /** In nats. */
  readonly logProbs: readonly number[];
  /**
   * Per token the highest log-probs in descending order, and the sampled one's if it is not among them; or
   * empty.
   */
  readonly topLogProbs: readonly (readonly number[])[];
  /** Prompt tokens that were computed, not found in a cache. */
  readonly prefillTokens: number;
  /** The weights that answered, if the server says so. */
  readonly label: string | null;
}

/** One POST to a server. */
export interface WireRequest {
  /** Below the base URL. */
  readonly path: string;
  readonly body: unknown;
}

/**
 * Requests to one kind of server and its replies. Write one to use another server (docs/extending/wire.md).
 */
export interface ServerWire {
  /** The server's name for people. */
  readonly name: string;
  /** Why servers of this kind cannot carry out the request, as a sentence; null = they can. */
  refused(request: GenerateRequest): string | null;
  /** `seed` is below 2^31. */
  generate(request: GenerateRequest, serving: Serving, seed: number): WireRequest;
  /** Reads the reply to `generate`; throws if it has another form. */
  read(body: unknown): Generated;
  /** Requests name the model; left out = a server has only one. */
  readonly namesModel?: true;
  /** How it generates for text models (roles, judges); left out = it cannot be chosen there. */
  readonly text?: TextExtensions;
  /** Where a server says how long a context may be; left out = `contextMax` must be given. */
  readonly contextMax?: ContextMaxWire;
  /**
   * How to score given tokens; left out = what is published cannot be compared with the trainer's
   * (canary.ts).
   */
  readonly score?: ScoreWire;
  /** How a server encodes a text; left out = a tokenizer that differs from the policy's goes unnoticed. */
  readonly tokenize?: TokenizeWire;
  /**
   * Where a server says which models and adapters it has; left out = a wrong name shows at the first request.
   */
  readonly models?: ModelsWire;
  /** Where a server says how it computes; left out = its arithmetic is not known. */
  readonly facts?: FactsWire;
  /** How to start a server so that the same seed gives the same tokens; left out = nothing is needed. */
  readonly seedsNeed?: string;
  /** How to load LoRA adapters while it runs; left out = impossible. */
  readonly adapters?: AdapterWire;
  /** How to replace all weights while it runs; left out = impossible. */
  readonly replacement?: ReplacementWire;
}

/** A GET request whose reply says how many tokens a context may have. */
export interface ContextMaxWire {
  /** Of a GET. */
  readonly path: string;
  /** The server's flag that sets it, for messages. */
  readonly flag?: string;
  /** Tokens; null if the reply does not say. */
  read(body: unknown): number | null;
}

/** What a server says about itself; null if it does not say. */
export interface ServerFacts {
  /** Of its weights and arithmetic: `float32`, `bfloat16` …; of quantised weights anything but float32. */
  readonly dtype: string | null;
  /** `cpu`, `cuda` … */
  readonly device: string | null;
}

/** A GET request whose reply says how a server computes. */
export interface FactsWire {
  /** Of a GET. */
  readonly path: string;
  read(body: unknown): ServerFacts;
}

/** A request for the log-probs of given tokens, and how its reply is read. */
export interface ScoreWire {
  request(tokens: readonly number[], serving: Serving): WireRequest;
  /**
   * Per token its log-prob (nats) at temperature 1 after those before it; place 0 is not read. Throws on
   * another shape.
   */
  read(body: unknown, tokens: readonly number[]): readonly number[];
}

/** A request for the tokens of a text, without special ones around it, and how to read its reply. */
export interface TokenizeWire {
  request(text: string, serving: Serving): WireRequest;
  /** Null if the reply has none. */
  read(body: unknown): readonly number[] | null;
}

/** `/tokenize`, as in vLLM, and SGLang after it. */
export const tokenizeRoute: TokenizeWire = {
  request: (prompt, { model }) => ({
    path: '/tokenize',
    body: { model, prompt, add_special_tokens: false },
  }),
  read(body) {
    const { tokens } = (body ?? {}) as { readonly tokens?: unknown };
    return Array.isArray(tokens) && tokens.every(Number.isInteger) ? tokens : null;
  },
};

/** A GET request whose reply lists what a server serves. */
export interface ModelsWire {
  /** Of a GET. */
  readonly path: string;
  /** Names, including those of adapters. */
  read(body: unknown): readonly string[];
}

/** The requests that load and unload a LoRA adapter. `folder` is a path that the server can read. */
export interface AdapterWire {
  load(name: string, folder: string): WireRequest;
  unload(name: string): WireRequest;
  /** Whether a refusal of `load` means that an adapter of this name is already loaded. */
  isLoaded(reason: string): boolean;
  /** Whether a refusal means that the server lacks the adapter that is asked; left out = it answers 404. */
  isLost?(reason: string): boolean;
}

/**
 * The requests that replace all weights by those in `folder`, a path that the server can read; one after the
 * other.
 */
export interface ReplacementWire {
  load(label: string, folder: string): WireRequest | readonly WireRequest[];
  /** The server remembers the label and includes it in each answer. */
  readonly reported: boolean;
  /**
   * Where to ask a server for its label if its answers do not include it; a restarted server gives another.
   * Left out = a restart goes unnoticed.
   */
  readonly label?: LabelWire;
  /** The options that a server needs for these routes; for messages. */
  readonly needs?: string;
  /** Why a server would not get all of the new weights, and what to do; null = it would. */
  refused?(model: { readonly tied: boolean }, facts: ServerFacts): string | null;
}

/** A GET request whose reply says which label a server remembers. */
export interface LabelWire {
  /** Of a GET. */
  readonly path: string;
  read(body: unknown): string | null;
}

/** Log-probs reported of a token if a step entropy needs them, unless another number is requested. */
export const TOP_LOG_PROBS = 10;

/** Every parameter, under vLLM's and SGLang's names: servers fill gaps from the model's own file. */
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

/** Tokens as plain numbers for JSON. Spreading a typed array takes V8 nine times as long. */
export function tokenList(tokens: ArrayLike<number>): number[] {
  const list = new Array<number>(tokens.length);
  for (let i = 0; i < tokens.length; i++) list[i] = tokens[i]!;
  return list;
}

/** A list of numbers, or an error that names the field. */
export function numbers(value: unknown, field: string): readonly number[] {
  if (Array.isArray(value) && value.every((each) => typeof each === 'number')) return value;
  const nulls =
    Array.isArray(value) && value.includes(null) ? ': some are null, which stands for NaN' : '';
  throw new Error(`the reply has no numbers in ${field}${nulls}`);
}

/** `contextMax` of servers that list their models as OpenAI does, with vLLM's `max_model_len`. */
export const listedContextMax: ContextMaxWire = {
  path: '/v1/models',
  read(body) {
    const models = (body as { data?: { max_model_len?: unknown }[] } | null)?.data ?? [];
    const found = models.map((each) => each.max_model_len).find((each) => Number(each) > 0);
    return found === undefined ? null : Number(found);
  },
};

/** `models` of servers that list their models as OpenAI does. */
export const listedModels: ModelsWire = {
  path: '/v1/models',
  read(body) {
    const models = (body as { data?: { id?: unknown }[] } | null)?.data ?? [];
    return models.map(({ id }) => String(id));
  },
};
