/**
 * A policy engine behind the HTTP shapes of vLLM and of SGLang, with their traps: a request that leaves the
 * sampling to the model's generation config is failed, as no one means that; stop strings are trimmed unless
 * asked otherwise, a text prompt gets a BOS token unless asked otherwise, loading an adapter is answered in
 * plain text, a name that is taken is refused.
 *
 * Draws are the server's own: they come from the seed that is sent.
 */
import type { ServerResponse } from 'node:http';
import type { Generation, PolicyEngine, Tokenizer } from '../../model/engine.ts';
import { answer, type ScriptedServer, type Seen, scriptedServer } from './scriptedServer.ts';

type Json = Readonly<Record<string, unknown>>;

export interface EngineServerOptions {
  readonly engine: PolicyEngine;
  /** For requests in text. */
  readonly tokenizer?: Tokenizer;
  /** Put before a text prompt. */
  readonly bos?: number;
  /** The chat template of the server: messages to text. */
  readonly template?: (messages: readonly Message[], open: boolean) => string;
  /** Makes the weights of a folder those of the engine. */
  readonly load?: (folder: string) => Promise<void>;
  /** Opens an adapter next to the engine. */
  readonly adapter?: (folder: string) => Promise<PolicyEngine>;
  /** Log-probs of given tokens. */
  readonly score?: (tokens: Int32Array) => Promise<ArrayLike<number>>;
  /** Log-probs as the server reports them, in place of the engine's. */
  readonly reported?: (logProb: number, temperature: number) => number;
}

export interface Message {
  readonly role: string;
  readonly content: string;
}

interface Sampling {
  readonly maxTokens: number;
  readonly temperature: number;
  readonly seed: number;
  readonly stopTokens: readonly number[];
  readonly stopTexts?: readonly string[];
  readonly top: number;
}

/** Sent by everybody who does not want the model's own defaults. */
const EXPLICIT = ['temperature', 'top_p', 'top_k', 'min_p', 'repetition_penalty'];

export interface EngineServer extends ScriptedServer {
  /** Forgets what was loaded into it, as a server does that is started again. */
  restart(): void;
}

export async function engineServer(options: EngineServerOptions): Promise<EngineServer> {
  const adapters = new Map<string, PolicyEngine>();
  const state = { weightVersion: 'default' };
  const server = await scriptedServer(async (seen, response) => {
    try {
      await route(options, adapters, state, seen, response);
    } catch (error) {
      if (seen.gone.aborted) return;
      const message = error instanceof Error ? error.message : String(error);
      await answer({ error: { message } }, 400)(seen, response);
    }
  });
  const restart = () => {
    adapters.clear();
    state.weightVersion = 'default';
  };
  // Not a copy: its counts are read as they are.
  return Object.assign(server, { restart });
}

async function route(
  options: EngineServerOptions,
  adapters: Map<string, PolicyEngine>,
  state: { weightVersion: string },
  seen: Seen,
  response: ServerResponse,
): Promise<void> {
  const body = seen.body ?? {};
  const say = (value: unknown, status = 200) => answer(value, status)(seen, response);
  switch (seen.path) {
    case '/v1/models': {
      const data = ['base', ...adapters.keys()].map((id) => ({
        id,
        max_model_len: options.engine.contextMax,
      }));
      return say({ object: 'list', data });
    }
    case '/v1/load_lora_adapter': {
      const name = String(body.lora_name);
      if (adapters.has(name))
        throw new Error(`The lora adapter '${name}' has already been loaded.`);
      adapters.set(name, await options.adapter!(String(body.lora_path)));
      return say(`Success: LoRA adapter '${name}' added successfully.`);
    }
    case '/v1/unload_lora_adapter':
      adapters.delete(String(body.lora_name));
      return say('Success: removed.');
    case '/update_weights_from_disk':
      await options.load?.(String(body.model_path));
      state.weightVersion = String(body.weight_version);
      return say({ success: true, message: 'Succeeded to update model weights.' });
    case '/v1/completions': {
      const engine = body.model === 'base' ? options.engine : adapters.get(String(body.model));
      const unknown = { error: { message: `The model \`${body.model}\` does not exist.` } };
      if (!engine) return say(unknown, 404);
      const complete = Array.isArray(body.prompt) ? tokensIn : textIn;
      return say(await complete({ ...options, engine }, body, seen.gone));
    }
    case '/v1/chat/completions':
      return say(await chat(options, body, seen.gone));
    case '/generate':
      return say(await generate(options, body, state.weightVersion, seen.gone));
    default:
      return say({ detail: 'Not Found' }, 404);
  }
}

function explicit(body: Json): void {
  const missing = EXPLICIT.filter((name) => body[name] === undefined);
  if (missing.length > 0)
    throw new Error(`taken from the generation config: ${missing.join(', ')}`);
}

function run(
  { engine }: EngineServerOptions,
  tokens: readonly number[],
  { maxTokens, temperature, seed, stopTokens, stopTexts = [], top }: Sampling,
  gone: AbortSignal,
): Promise<Generation> {
  return engine.generate(
    {
      tokens: Int32Array.from(tokens),
      maxTokens,
      temperature,
      stopTokens,
      stopTexts,
      draws: ['server', seed],
      topLogProbs: top > 0 ? maxTokens : 0,
    },
    gone,
  );
}

/** vLLM, token ids in. */
async function tokensIn(
  options: EngineServerOptions,
  body: Json,
  gone: AbortSignal,
): Promise<Json> {
  explicit(body);
  const prompt = body.prompt as number[];
  const temperature = Number(body.temperature);
  if (body.prompt_logprobs !== undefined) return scoredPrompt(options, prompt);
  const stopTexts = (body.stop ?? []) as string[];
  const isWhole = body.include_stop_str_in_output && body.skip_special_tokens === false;
  if (stopTexts.length > 0 && !isWhole) throw new Error('the stop text would be cut off');
  const made = await run(
    options,
    prompt,
    {
      maxTokens: Number(body.max_tokens),
      temperature,
      seed: Number(body.seed),
      stopTokens: body.ignore_eos ? (body.stop_token_ids as number[]) : [0],
      stopTexts,
      top: Number(body.logprobs),
    },
    gone,
  );
  const reported = options.reported ?? ((logProb: number) => logProb);
  const tops = made.topLogProbs.map((of, place) =>
    Object.fromEntries(
      of.map((logProb, rank) => [
        // Without token ids as names, equal texts would fall together.
        body.return_tokens_as_token_ids ? `token_id:${rank}` : `text ${place}`,
        reported(logProb, temperature),
      ]),
    ),
  );
  return {
    choices: [
      {
        text: '',
        token_ids: body.return_token_ids ? [...made.tokens] : null,
        finish_reason: made.finish,
        logprobs: {
          token_logprobs: [...made.logProbs].map((each) => reported(each, temperature)),
          top_logprobs: tops.length > 0 ? tops : null,
        },
      },
    ],
    usage: { prompt_tokens: prompt.length, prompt_tokens_details: { cached_tokens: 1 } },
  };
}

/** vLLM's log-probs of a prompt; there are none without `score`. */
async function scoredPrompt({ score }: EngineServerOptions, prompt: number[]): Promise<Json> {
  const scores = (await score?.(Int32Array.from(prompt))) ?? prompt.map(() => -1);
  const given = prompt.map((token, place) =>
    place === 0 ? null : { [String(token)]: { logprob: scores[place], rank: 1 } },
  );
  return { choices: [{ token_ids: [0], prompt_logprobs: given }] };
}

/** SGLang, token ids in. */
async function generate(
  options: EngineServerOptions,
  body: Json,
  weightVersion: string,
  gone: AbortSignal,
): Promise<Json> {
  const params = body.sampling_params as Json;
  explicit(params);
  const temperature = Number(params.temperature);
  const stopTexts = (params.stop ?? []) as string[];
  const isWhole = params.no_stop_trim && params.skip_special_tokens === false;
  if (stopTexts.length > 0 && !isWhole) throw new Error('the stop text would be cut off');
  const made = await run(
    options,
    body.input_ids as number[],
    {
      maxTokens: Number(params.max_new_tokens),
      temperature,
      seed: Number(params.sampling_seed),
      // It ignores the stop tokens as well.
      stopTokens: params.ignore_eos ? [] : (params.stop_token_ids as number[]),
      stopTexts,
      top: Number(body.top_logprobs_num),
    },
    gone,
  );
  const reported = options.reported ?? ((logProb: number) => logProb);
  const logProbs = [...made.logProbs].map((each) => reported(each, temperature));
  return {
    text: '',
    meta_info: {
      finish_reason: { type: made.finish },
      weight_version: weightVersion,
      prompt_tokens: (body.input_ids as number[]).length,
      cached_tokens: 1,
      output_token_logprobs: logProbs.map((logProb, i) => [logProb, made.tokens[i], null]),
      // Ten, whether or not the sampled token is among them.
      output_top_logprobs: made.topLogProbs.map((of, place) =>
        of.slice(0, 10).map((logProb) => {
          const sampled = Math.fround(logProb) === made.logProbs[place];
          return [reported(logProb, temperature), sampled ? made.tokens[place] : -1, null];
        }),
      ),
    },
  };
}

/** vLLM and SGLang, text in. */
async function textIn(options: EngineServerOptions, body: Json, gone: AbortSignal): Promise<Json> {
  const { text, stopReason } = await completed(options, body, String(body.prompt), gone);
  return { choices: [{ text, finish_reason: 'stop', stop_reason: stopReason }] };
}

async function chat(options: EngineServerOptions, body: Json, gone: AbortSignal): Promise<Json> {
  if (body.continue_final_message && body.add_generation_prompt !== false) {
    throw new Error(
      'Cannot set both `continue_final_message` and `add_generation_prompt` to True.',
    );
  }
  const prompt = options.template!(body.messages as Message[], !body.continue_final_message);
  const asked = { ...body, add_special_tokens: false };
  const { text, stopReason } = await completed(options, asked, prompt, gone);
  return { choices: [{ message: { role: 'assistant', content: text }, stop_reason: stopReason }] };
}

async function completed(
  options: EngineServerOptions,
  body: Json,
  prompt: string,
  gone: AbortSignal,
): Promise<{ text: string; stopReason: string | null }> {
  explicit(body);
  const { tokenizer, bos } = options as Required<EngineServerOptions>;
  const special = body.add_special_tokens === false || bos === undefined ? [] : [bos];
  const sampling = {
    maxTokens: Number(body.max_tokens),
    temperature: Number(body.temperature),
    seed: Number(body.seed),
    stopTokens: [tokenizer.endToken],
    top: 0,
  };
  const tokens = [...special, ...tokenizer.encode(prompt)];
  const room = options.engine.contextMax - tokens.length;
  if (sampling.maxTokens > room) {
    throw new Error(`'max_tokens' is too large: ${sampling.maxTokens}; there is room for ${room}`);
  }
  const made = await run(options, tokens, sampling, gone);
  const whole = tokenizer.decode([...made.tokens].filter((token) => token !== tokenizer.endToken));
  const stops = (body.stop ?? []) as string[];
  const met = stops
    .filter((stop) => whole.includes(stop))
    .sort((a, b) => whole.indexOf(a) - whole.indexOf(b))[0];
  if (met === undefined) return { text: whole, stopReason: null };
  const kept = body.include_stop_str_in_output ? met.length : 0;
  return { text: whole.slice(0, whole.indexOf(met) + kept), stopReason: met };
}
