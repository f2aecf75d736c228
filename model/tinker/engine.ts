/**
 * `PolicyEngine` on a training service: token ids to `asample`, token ids and log-probs back.
 *
 * Guarantees:
 * - versions are sampled from models of this engine's own. Some services (SkyRL's JAX backend) sample from
 *   the very memory that is trained, and an old snapshot would be put back under the trainer; the models here
 *   are never trained;
 * - a snapshot has a name of its own and is sampled only while its model holds it;
 * - after every load log-probs of a few tokens are compared: what the trainer said when it saved the version,
 *   what the model that it was loaded into says, and what the service samples with; at most 0.05 apart;
 * - log-probs are those of temperature 1, as services give them.
 *
 * Services sample from the whole context of a request and know no priorities, no top log-probs and no
 * entropies.
 */

import { draws, MillraceError, raceAbort } from '../../base/index.ts';
import { counted } from '../../base/text/index.ts';
import { BusyTime } from '../busyTime.ts';
import type {
  Checkpoint,
  EngineStats,
  GenerateRequest,
  Generation,
  PolicyEngine,
} from '../engine.ts';
import { StopTexts } from '../rollout/stopTexts.ts';
import type { TokenBytes } from '../rollout/tokenBytes.ts';
import { samplingIn } from '../sampling.ts';
import { Refused, StateLost } from './client.ts';
import { PROBE_TOKENS, probeLogProbs } from './probe.ts';
import type { RemoteModel } from './remoteModel.ts';
import type { ModelSpec, TinkerService } from './service.ts';

export interface TinkerEngineOptions {
  /** Longest context in tokens, prompt and response: services do not report theirs. */
  readonly contextMax: number;
  /** The bytes of each token (`tokenBytes(tokenizer)`), which requests with stop texts need. */
  readonly tokenBytes?: TokenBytes;
}

/** The trainer's log-probs of the probe's tokens when it saved a state; null = unknown. */
export type ExpectedOf = (uri: string) => Float32Array | null;

interface Sampled {
  readonly version: number;
  readonly model: RemoteModel;
  readonly uri: string;
  active: number;
  /** It is no longer needed. */
  retired: boolean;
}

const SEEDS = 2 ** 31;
/**
 * Tokens of the first request for a text that the service does not stop at; each further one requests twice
 * as many. Little is thrown away, and a service that compiles for every length (SkyRL's JAX backend) meets
 * few.
 */
const STRETCH = 64;
const LOSSES_MAX = 5;
/** Between two ways of computing the same log-prob, in half precision. */
const TOLERANCE = 0.05;
/** In half precision a log-prob may come out slightly above 0. */
const ROUNDING = 1e-2;

/**
 * An engine whose weights are states of the service (`trainer.publish=state`), or the policy as it is.
 * `generate` fails with `MODEL_UNSUPPORTED`, `WEIGHTS_UNKNOWN` before the first `load`, and `MODEL_REPLY`;
 * `load` with `CHECKPOINT_KIND`, `CHECKPOINT`, `WEIGHTS_REFUSED` and `WEIGHTS_WRONG`.
 */
export class TinkerEngine implements PolicyEngine {
  readonly contextMax: number;
  readonly agreement = { precision: 'unknown', meanMax: null } as const;
  readonly #service: TinkerService;
  readonly #spec: ModelSpec;
  readonly #options: TinkerEngineOptions;
  readonly #expected: ExpectedOf;
  #wanted: Checkpoint | null = null;
  #sampled: Promise<Sampled> | null = null;
  #loading: Promise<unknown> = Promise.resolve();
  readonly #busy: BusyTime;
  #generatedTokens = 0;
  #prefillTokens = 0;

  /** Use `TinkerTrainer.sampler`. */
  constructor(
    service: TinkerService,
    spec: ModelSpec,
    options: TinkerEngineOptions,
    expected: ExpectedOf,
  ) {
    this.#service = service;
    this.#busy = new BusyTime(service.clock);
    this.#spec = spec;
    this.#options = options;
    this.#expected = expected;
    this.contextMax = options.contextMax;
  }

  async generate(request: GenerateRequest, signal?: AbortSignal): Promise<Generation> {
    this.#check(request);
    signal?.throwIfAborted();
    return this.#busy.during(() => {
      const made = this.#generate(request);
      made.catch(() => undefined);
      return signal === undefined ? made : raceAbort(made, signal);
    });
  }

  load(weights: Checkpoint): Promise<void> {
    const loaded = this.#loading.then(async () => {
      if (this.#sampled !== null && isSame(this.#wanted, weights)) return;
      const before = this.#sampled;
      const next = this.#prepare(weights);
      await next;
      this.#wanted = weights;
      this.#sampled = next;
      await this.#retire(before);
    });
    this.#loading = loaded.catch(() => undefined);
    return loaded;
  }

  stats(): EngineStats {
    return {
      generatedTokens: this.#generatedTokens,
      prefillTokens: this.#prefillTokens,
      busyMs: this.#busy.ms,
    };
  }

  async close(): Promise<void> {
    await this.#loading;
    await this.#retire(this.#sampled);
    this.#sampled = null;
  }

  #check({ tokens, maxTokens, ...request }: GenerateRequest): void {
    if (tokens.length === 0) throw new Error('the context is empty: give at least one token');
    if (!(maxTokens >= 1)) throw new Error(`maxTokens is ${maxTokens}: ask for at least one token`);
    if (tokens.length >= this.contextMax) {
      throw new Error(
        `the context has ${tokens.length} tokens and contextMax is ${this.contextMax}: end the conversation earlier`,
      );
    }
    const { minP, repetitionPenalty } = samplingIn(request);
    const unsupported = {
      'top log-probs': request.topLogProbs > 0,
      entropies: request.entropies === true,
      minP: minP !== 0,
      repetitionPenalty: repetitionPenalty !== 1,
      'stop texts when the bytes of tokens are unknown':
        (request.stopTexts ?? []).length > 0 && this.#options.tokenBytes === undefined,
    };
    const found = Object.entries(unsupported).flatMap(([name, is]) => (is ? [name] : []));
    if (found.length === 0) return;
    throw new MillraceError(
      'MODEL_UNSUPPORTED',
      `a training service does not support ${found.join(', ')}: set branching=none and plain sampling, or generate on vLLM, SGLang or the embedded engine`,
    );
  }

  async #generate(request: GenerateRequest): Promise<Generation> {
    for (let losses = 0; ; losses++) {
      const sampled = await this.#current();
      try {
        sampled.active++;
        return await this.#generation(request, sampled);
      } catch (error) {
        if (error instanceof Refused) {
          throw new MillraceError('MODEL_REFUSED', `the service refuses: ${error.message}`, {
            cause: error,
          });
        }
        if (!(error instanceof StateLost) || losses >= LOSSES_MAX) throw error;
        await this.#again(sampled);
      } finally {
        sampled.active--;
        if (sampled.retired) await this.#unloadIdle(sampled);
      }
    }
  }

  async #current(): Promise<Sampled> {
    if (this.#sampled !== null) return this.#sampled;
    throw new MillraceError('WEIGHTS_UNKNOWN', 'no weights are loaded: load a version first');
  }

  /** The service has lost the model: of many requests that find it gone, the first one creates it again. */
  #again(gone: Sampled): Promise<void> {
    const loaded = this.#loading.then(async () => {
      const now = await this.#sampled?.catch(() => null);
      if ((now !== gone && now !== null) || this.#wanted === null) return;
      this.#sampled = this.#prepare(this.#wanted);
      await this.#sampled;
    });
    this.#loading = loaded.catch(() => undefined);
    return loaded;
  }

  /** A separate model with these weights, and a snapshot of it. */
  async #prepare({ version, uri }: Checkpoint): Promise<Sampled> {
    const inService = uri.startsWith('tinker://');
    if (!inService && version !== 0) {
      throw new MillraceError(
        'CHECKPOINT_KIND',
        `policy version ${version} is at '${uri}', which a training service cannot sample: train with trainer.publish=state`,
        { context: { uri, version } },
      );
    }
    const model = await this.#service.create(this.#spec);
    try {
      if (inService) await model.load(uri);
      const snapshot = await model.snapshot(`v${version}-sampled`);
      await this.#compare(model, snapshot.uri, { version, uri });
      return { version, model, uri: snapshot.uri, active: 0, retired: false };
    } catch (error) {
      await model.unload().catch(() => undefined);
      if (!(error instanceof Refused)) throw error;
      throw new MillraceError(
        'WEIGHTS_REFUSED',
        `version ${version} cannot be sampled on the training service ${this.#service.url}: ${error.message}`,
        { context: { uri, version }, cause: error },
      );
    }
  }

  /**
   * Checks that the trainer that saved the version, the model that holds it now and the service's sampler
   * give the probe's tokens the same log-probs.
   */
  async #compare(
    model: RemoteModel,
    snapshot: string,
    { version, uri }: Pick<Checkpoint, 'version' | 'uri'>,
  ): Promise<void> {
    const { url } = this.#service;
    const held = await probeLogProbs(model);
    const expected = this.#expected(uri);
    if (expected !== null) {
      const apart = distance(expected, held);
      if (!(apart <= TOLERANCE)) {
        throw new MillraceError(
          'WEIGHTS_WRONG',
          `the training service ${url} loads weights from ${uri} that differ from those it saved there as version ${version}: log-probs differ by ${apart} nats`,
          { context: { version, uri, apart } },
        );
      }
    }
    const { prompt_logprobs: said } = await model.sample({
      ...{ model_path: snapshot, num_samples: 1, prompt_logprobs: true },
      prompt: promptOf(PROBE_TOKENS),
      sampling_params: { max_tokens: 1, temperature: 0, seed: 0, top_k: -1, top_p: 1 },
    });
    // services that do not report log-probs of the prompt are trusted
    if (!Array.isArray(said)) return;
    const apart = distance(
      held,
      said.filter((value): value is number => typeof value === 'number'),
    );
    if (apart <= TOLERANCE) return;
    throw new MillraceError(
      'WEIGHTS_REFUSED',
      `the training service ${url} samples version ${version} with weights that differ from those it trains: log-probs differ by ${apart} nats`,
      { context: { version, apart } },
    );
  }

  /**
   * Up to the first stop, requested in stretches if the service does not see it. Fails with code
   * `MODEL_REPLY`.
   */
  async #generation(request: GenerateRequest, sampled: Sampled): Promise<Generation> {
    const { tokens: context, stopTokens, stopTexts = [], stopTextsFrom, maxTokens } = request;
    const most = Math.min(maxTokens, this.contextMax - context.length);
    const stops = new StopTexts(stopTexts, this.#options.tokenBytes);
    for (const token of context.subarray(stopTextsFrom ?? context.length)) stops.completedBy(token);
    const tokens: number[] = [];
    const logProbs: number[] = [];
    let finish: Generation['finish'] = 'length';
    let stopText: string | undefined;
    for (
      let stretch = stopTexts.length === 0 ? most : STRETCH;
      finish === 'length' && tokens.length < most;
      stretch *= 2
    ) {
      const asked = Math.min(stretch, most - tokens.length);
      const before = Int32Array.from([...context, ...tokens]);
      const made = sequenceIn(await this.#ask(before, asked, request, sampled));
      const end = made.tokens.findIndex((token) => {
        stopText = stops.completedBy(token);
        return stopText !== undefined || stopTokens.includes(token);
      });
      const length = end < 0 ? made.tokens.length : end + 1;
      if (length > asked || (end < 0 && length < asked)) {
        throw refused(`${counted(made.tokens.length, 'token')} came, but ${asked} were requested`);
      }
      tokens.push(...made.tokens.slice(0, length));
      logProbs.push(...made.logProbs.slice(0, length));
      if (end >= 0) finish = 'stop';
    }
    this.#generatedTokens += tokens.length;
    return {
      tokens: Int32Array.from(tokens),
      logProbs: Float32Array.from(logProbs, (value) => Math.min(0, value)),
      finish,
      topLogProbs: [],
      version: sampled.version,
      ...(stopText === undefined ? {} : { stopText }),
    };
  }

  #ask(
    tokens: Int32Array,
    most: number,
    { stopTokens, draws: key, ...request }: GenerateRequest,
    { model, uri }: Sampled,
  ): Promise<Readonly<Record<string, unknown>>> {
    const { temperature, topP, topK } = samplingIn(request);
    const params = {
      max_tokens: most,
      ...(stopTokens.length === 0 ? {} : { stop: stopTokens }),
      // Like the embedded engine's draws, the seed belongs to a place in the context.
      seed: draws(...key).integer(tokens.length, SEEDS),
      ...{ temperature, top_p: topP, top_k: topK === 0 ? -1 : topK },
    };
    this.#prefillTokens += tokens.length;
    const body = { model_path: uri, num_samples: 1, prompt: promptOf(tokens) };
    return model.sample({ ...body, sampling_params: params });
  }

  async #retire(before: Promise<Sampled> | null): Promise<void> {
    const sampled = await before?.catch(() => null);
    if (sampled === null || sampled === undefined) return;
    sampled.retired = true;
    await this.#unloadIdle(sampled);
  }

  async #unloadIdle(sampled: Sampled): Promise<void> {
    if (sampled.active === 0) await sampled.model.unload().catch(() => undefined);
  }
}

function isSame(one: Checkpoint | null, other: Checkpoint): boolean {
  return one?.uri === other.uri && one.version === other.version;
}

/** The largest difference; NaN if one has fewer numbers than the other. */
function distance(one: Float32Array, other: ArrayLike<number>): number {
  return Math.max(...one.map((value, index) => Math.abs(value - (other[index] ?? Number.NaN))));
}

function promptOf(tokens: Int32Array): object {
  return { chunks: [{ type: 'encoded_text', tokens: [...tokens] }] };
}

function sequenceIn(reply: Readonly<Record<string, unknown>>): {
  readonly tokens: readonly number[];
  readonly logProbs: readonly number[];
} {
  const [sequence] = Array.isArray(reply.sequences) ? reply.sequences : [];
  const { tokens, logprobs } = (sequence ?? {}) as Readonly<Record<string, unknown>>;
  if (!Array.isArray(tokens) || !Array.isArray(logprobs) || tokens.length !== logprobs.length) {
    throw refused('it does not have a log-prob for each token');
  }
  const wrong = tokens.find((token) => !Number.isInteger(token) || token < 0);
  if (wrong !== undefined) throw refused(`${wrong} is not a token id`);
  const odd = logprobs.find((value) => !Number.isFinite(value) || value > ROUNDING);
  if (odd !== undefined) throw refused(`a log-prob is ${odd}`);
  return { tokens, logProbs: logprobs };
}

function refused(what: string): MillraceError {
  return new MillraceError('MODEL_REPLY', `the service's reply to asample cannot be used: ${what}`);
}
