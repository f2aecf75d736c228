/**
 * The policy on inference servers: token ids to vLLM, SGLang or another server (its wire), token ids and log-probs back.
 *
 * Keeps the contract of `PolicyEngine` as the embedded engine does, with two differences that lie in the servers: the same
 * request gives the same tokens only as far as the server's arithmetic does not depend on what else it computes, and
 * `load` asks all servers to take weights from a folder that they can read.
 *
 * Holds true:
 * - a generation is made by the weights whose version it says: requests ask for them by name, or nothing is under way
 *   while weights are replaced; a server that says it answered with others is an error;
 * - a restarted server is given its weights again, where it shows that it has lost them;
 * - log-probs are at temperature 1, over the whole vocabulary. What servers report depends on how they were started, so it
 *   is tried out at the beginning, and sampling for which they would be wrong is refused.
 */
import { hasCode, MillraceError } from '../../base/errors.ts';
import type {
  Checkpoint,
  EngineStats,
  GenerateRequest,
  Generation,
  PolicyEngine,
} from '../engine.ts';
import { shapedBy } from '../sampling.ts';
import { askTokens, type TokenServers } from './askTokens.ts';
import { generationOf } from './checkReply.ts';
import { contextMaxOf, isTempered } from './probe.ts';
import type { Published, Publisher, Publishing, Servers } from './publish.ts';
import { type PoolOptions, ServerPool } from './serverPool.ts';
import type { ServerWire, Serving } from './serverWire.ts';
import { checkDigest } from './weightsDigest.ts';

/** Which servers, what they serve, and how new weights reach them. */
export interface RemoteEngineOptions extends PoolOptions {
  /** The servers' protocol: `vllm`, `sglang`, or one of your own. */
  readonly wire: ServerWire;
  /** Name of the base model, as the servers serve it; SGLang needs none. */
  readonly model?: string;
  /** How new weights reach the servers; left out = they serve what they serve, and `load` refuses. */
  readonly publisher?: Publisher;
  /** The version that the servers serve already. Left out: nothing is generated before the first `load`. */
  readonly version?: number;
  /** Longest context in tokens; asked from the servers when left out. */
  readonly contextMax?: number;
  /** Tokens of the vocabulary: a reply with an id that is not below it is refused. Left out = any id is taken. */
  readonly vocabSize?: number;
}

/** Weights that are asked for, and by how many requests now. */
interface Target extends Serving {
  readonly version: number;
  /** Null for those that the servers had at the beginning. */
  readonly weights: Checkpoint | null;
  active: number;
  /** Called when the last request under way has ended. */
  idle: (() => void) | null;
}

/** Long answers take long. */
const TIMEOUT_MS = 600_000;

/**
 * A `PolicyEngine` on one or more inference servers.
 *
 * `generate` fails with `MODEL_DOWN` when no server answers, `MODEL_REFUSED` or `MODEL_ACCESS` when one refuses,
 * `MODEL_UNSUPPORTED` for what servers cannot do (stop texts, entropies), `MODEL_LOG_PROBS` where the log-probs would
 * not be the policy's, `WEIGHTS_UNKNOWN` before the first `load`; `load` with `WEIGHTS_REFUSED` or `DIGEST`.
 */
export class RemoteEngine implements PolicyEngine {
  readonly contextMax: number;
  readonly #servers: TokenServers;
  readonly #publishing: Publishing | null;
  readonly #options: RemoteEngineOptions;
  /** Log-probs are those of the temperature that was sampled at. */
  readonly #tempered: boolean;
  #target: Target | null;
  /** Loads one after the other; requests wait for those that replace weights. */
  #loading: Promise<void> = Promise.resolve();
  #replacing: Promise<void> | null = null;
  #pending = 0;
  #busySince = 0;
  #busyMs = 0;
  #generatedTokens = 0;
  #prefillTokens = 0;

  private constructor(
    options: RemoteEngineOptions,
    servers: TokenServers,
    publishing: Publishing | null,
    found: { readonly contextMax: number; readonly tempered: boolean },
  ) {
    this.#options = options;
    this.#servers = servers;
    this.#publishing = publishing;
    this.contextMax = found.contextMax;
    this.#tempered = found.tempered;
    const { version } = options;
    this.#target = version === undefined ? null : target(baseOf(options), version, null);
  }

  /**
   * Asks every server what it serves, and tries its log-probs out. Rejects when one of them does not answer, and with code
   * `USAGE` where servers of this wire cannot be published to as asked.
   */
  static async create(options: RemoteEngineOptions): Promise<RemoteEngine> {
    const { wire, vocabSize } = options;
    const publishing = options.publisher?.(wire) ?? null;
    const pool = new ServerPool({
      ...options,
      timeoutMs: options.timeoutMs ?? TIMEOUT_MS,
      // Nobody else can answer for a server that stands alone: it gets a minute to come back.
      triesMax: options.triesMax ?? (options.urls.length > 1 ? 4 : 8),
    });
    try {
      const servers = { pool, wire, ...(vocabSize === undefined ? {} : { vocabSize }) };
      const contextMax = options.contextMax ?? (await contextMaxOf(servers));
      const tempered = await isTempered(servers, baseOf(options));
      return new RemoteEngine(options, servers, publishing, { contextMax, tempered });
    } catch (error) {
      await pool.close();
      throw error;
    }
  }

  async generate(request: GenerateRequest, signal?: AbortSignal): Promise<Generation> {
    this.#check(request);
    signal?.throwIfAborted();
    if (this.#pending++ === 0) this.#busySince = this.#options.clock.now();
    try {
      return await this.#generateOrReload(request, signal);
    } finally {
      if (--this.#pending === 0) this.#busyMs += this.#options.clock.now() - this.#busySince;
    }
  }

  /**
   * All servers serve these weights when it resolves. Refuses (and goes on with what it has, where weights stand beside
   * each other) when a server does not take them, or when the file here has another digest.
   */
  load(weights: Checkpoint): Promise<void> {
    const loaded = this.#loading.then(() => this.#load(weights));
    this.#loading = loaded.catch(() => undefined);
    return loaded;
  }

  stats(): EngineStats {
    const running = this.#pending > 0 ? this.#options.clock.now() - this.#busySince : 0;
    return {
      generatedTokens: this.#generatedTokens,
      prefillTokens: this.#prefillTokens,
      busyMs: this.#busyMs + running,
    };
  }

  /** Pending requests reject; the servers stay as they are. */
  close(): Promise<void> {
    return this.#servers.pool.close();
  }

  #check(request: GenerateRequest): void {
    const { tokens, maxTokens, temperature, stopTexts = [], entropies = false } = request;
    if (tokens.length === 0) throw new Error('the context is empty: give at least one token');
    if (!(maxTokens >= 1)) throw new Error(`maxTokens is ${maxTokens}: ask for at least one token`);
    if (tokens.length >= this.contextMax) {
      throw new Error(
        `the context has ${tokens.length} tokens and contextMax is ${this.contextMax}: end the conversation earlier`,
      );
    }
    if (stopTexts.length > 0 || entropies) {
      throw new MillraceError(
        'MODEL_UNSUPPORTED',
        'servers give neither stop texts with their tokens nor exact entropies: use stop tokens, or the embedded engine',
      );
    }
    const refused = this.#servers.wire.refused(request);
    if (refused !== null) throw new MillraceError('MODEL_UNSUPPORTED', refused);
    const shaped = shapedBy(request);
    if (this.#tempered && ((temperature !== 1 && temperature !== 0) || shaped.length > 0)) {
      const how = [`temperature ${temperature}`, ...shaped].join(', ');
      throw new MillraceError(
        'MODEL_LOG_PROBS',
        `the servers report log-probs of what was sampled from (${how}), not of the policy at temperature 1 as training needs them: ` +
          'start vLLM without --logprobs-mode processed_logprobs, SGLang with SGLANG_RETURN_ORIGINAL_LOGPROB=1, or sample at 1 from all tokens',
      );
    }
  }

  #targetOrFail(): Target {
    if (this.#target !== null) return this.#target;
    throw new MillraceError(
      'WEIGHTS_UNKNOWN',
      'it is not known which weights the servers serve: load a version, or say which one they have (version)',
    );
  }

  /** A restarted server gets its weights again, once. */
  async #generateOrReload(request: GenerateRequest, signal?: AbortSignal): Promise<Generation> {
    const serving = await this.#enter(signal);
    try {
      return await this.#generateWith(serving, request, signal);
    } catch (error) {
      if (serving.weights === null || !isForgotten(error)) throw error;
      await this.#reload(serving, serving.weights);
      return this.#generateWith(await this.#enter(signal), request, signal);
    }
  }

  /** The weights to ask for, the request counted among theirs in the same moment: none slips past a replacement. */
  async #enter(signal: AbortSignal | undefined): Promise<Target> {
    while (this.#replacing !== null) await this.#replacing;
    signal?.throwIfAborted();
    const serving = this.#targetOrFail();
    serving.active++;
    return serving;
  }

  #leave(serving: Target): void {
    if (--serving.active === 0) serving.idle?.();
  }

  /** For a request that has entered. */
  async #generateWith(
    serving: Target,
    request: GenerateRequest,
    signal: AbortSignal | undefined,
  ): Promise<Generation> {
    try {
      const maxTokens = Math.min(request.maxTokens, this.contextMax - request.tokens.length);
      const asked = { ...request, maxTokens };
      const made = await askTokens(this.#servers, asked, serving, signal);
      this.#generatedTokens += made.tokens.length;
      this.#prefillTokens += made.prefillTokens;
      return generationOf(made, asked, serving.version);
    } finally {
      this.#leave(serving);
    }
  }

  async #load(weights: Checkpoint): Promise<void> {
    const { version, digest } = weights;
    const current = this.#target;
    if (current?.version === version && (current.weights?.digest ?? digest) === digest) return;
    const publishing = this.#publishing;
    if (publishing === null) {
      throw new MillraceError(
        'WEIGHTS_REFUSED',
        `version ${version} cannot be loaded: this engine was made without a publisher`,
      );
    }
    await checkDigest(weights);
    if (publishing.replaces) await this.#replace(publishing, weights);
    else await this.#standBeside(publishing, weights);
  }

  /** Of many requests that find the same weights gone, the first one loads them. */
  #reload(gone: Target, weights: Checkpoint): Promise<void> {
    const loaded = this.#loading.then(async () => {
      if (this.#target !== gone) return;
      const publishing = this.#publishing;
      if (publishing === null) return;
      if (publishing.replaces) await this.#replace(publishing, weights);
      else this.#target = await this.#publish(publishing, weights);
    });
    this.#loading = loaded.catch(() => undefined);
    return loaded;
  }

  async #standBeside(publishing: Publishing, weights: Checkpoint): Promise<void> {
    const before = this.#target;
    this.#target = await this.#publish(publishing, weights);
    if (before === null || before.weights === null) return;
    const retire = () => void publishing.retire(before, this.#asked()).catch(() => undefined);
    if (before.active === 0) retire();
    else before.idle = retire;
  }

  async #replace(publishing: Publishing, weights: Checkpoint): Promise<void> {
    let done = (): void => undefined;
    this.#replacing = new Promise((resolve) => {
      done = resolve;
    });
    try {
      await this.#idle();
      // Until all of them have taken it, nobody knows what they serve.
      this.#target = null;
      this.#target = await this.#publish(publishing, weights);
    } finally {
      this.#replacing = null;
      done();
    }
  }

  async #idle(): Promise<void> {
    const serving = this.#target;
    if (serving === null || serving.active === 0) return;
    await new Promise<void>((resolve) => {
      serving.idle = resolve;
    });
  }

  async #publish(publishing: Publishing, weights: Checkpoint): Promise<Target> {
    const published: Published = await publishing.publish(weights, this.#asked());
    return target({ ...baseOf(this.#options), ...published }, weights.version, weights);
  }

  /** All servers, for publishing. */
  #asked(): Servers {
    const { pool } = this.#servers;
    return {
      urls: pool.urls,
      ask: (server, { path, body }) => pool.askServer(server, path, body),
    };
  }
}

function isForgotten(error: unknown): boolean {
  return hasCode(error, 'MODEL_ACCESS') || hasCode(error, 'WEIGHTS_LOST');
}

function target(serving: Serving, version: number, weights: Checkpoint | null): Target {
  return { ...serving, version, weights, active: 0, idle: null };
}

/** What servers serve that nothing was loaded into. */
function baseOf({ model = '' }: RemoteEngineOptions): Serving {
  return { model, adapter: null, label: '' };
}
