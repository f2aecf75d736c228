/**
 * The policy on inference servers: token ids to vLLM, SGLang or another server (its wire), token ids and
 * log-probs back.
 *
 * Keeps the contract of `PolicyEngine` as the embedded engine does, with two differences due to the
 * servers: the same request gives the same tokens only as far as the server's arithmetic does not depend on
 * what else it computes, and `load` asks all servers to take weights from a folder that they can read.
 *
 * Guarantees:
 * - a generation is made by the weights of the version that it names (heldWeights.ts);
 * - a restarted server is given its weights again, if it shows that it has lost them;
 * - log-probs are at temperature 1, over the whole vocabulary. What servers report depends on how they were
 *   started, so it is tried out at the beginning, and sampling for which they would be wrong is refused.
 */
import { MillraceError } from '../../base/index.ts';
import type { AgreementRule, Precision } from '../agreement.ts';
import { BusyTime } from '../busyTime.ts';
import type {
  Checkpoint,
  EngineStats,
  GenerateRequest,
  Generation,
  PolicyEngine,
  TrainerEngine,
} from '../engine.ts';
import type { TokenBytes } from '../rollout/tokenBytes.ts';
import { shapedBy } from '../sampling.ts';
import { VersionScores } from '../versionScores.ts';
import { type Answered, askTokens, type TokenServers } from './askTokens.ts';
import type { CanaryOptions, Expected } from './canary.ts';
import { endedUnasked, generationOf } from './checkReply.ts';
import { isForgotten } from './forgotten.ts';
import { type HeldTarget, HeldWeights } from './heldWeights.ts';
import {
  checkModels,
  checkReplaceable,
  checkUnreplaced,
  checkVocabulary,
  compareTokenizers,
  contextMaxOf,
  type EncodedText,
  factsOf,
  ordinaryContexts,
  precisionOf,
  seedsHold,
  type Tempered,
  temperedOf,
} from './probe.ts';
import type { Publisher, Publishing } from './publish.ts';
import { type PoolOptions, ServerPool } from './serverPool.ts';
import type { ServerWire, Serving } from './serverWire.ts';

/** Which servers, what they serve, and how new weights reach them. */
export interface RemoteEngineOptions extends PoolOptions {
  /** The servers' protocol: `vllm`, `sglang`, or one of your own. */
  readonly wire: ServerWire;
  /** Name of the base model on the servers; SGLang needs none. */
  readonly model?: string;
  /** How new weights reach the servers; left out = they keep what they have, and `load` refuses. */
  readonly publisher?: Publisher;
  /** The version that the servers already serve. Left out: nothing is generated before the first `load`. */
  readonly version?: number;
  /** Longest context in tokens; asked from the servers if left out. */
  readonly contextMax?: number;
  /**
   * Whether the policy's output head is its embeddings (default: no): some servers cannot replace such
   * weights.
   */
  readonly tied?: boolean;
  /**
   * Tokens of the vocabulary: a reply with an id that is not below it is refused. Left out = any id is taken.
   */
  readonly vocabSize?: number;
  /** The bytes of each token (`tokenBytes(tokenizer)`), which requests with stop texts need. */
  readonly tokenBytes?: TokenBytes;
  /** Texts as encoded here; a server that encodes them differently is reported. Left out = no comparison. */
  readonly texts?: readonly EncodedText[];
  /** Contexts of ordinary tokens for testing the servers; drawn from the vocabulary if left out. */
  readonly probes?: readonly Int32Array[];
  /** Compares what was published with the trainer (`compareWith`); left out = no comparison. */
  readonly canary?: CanaryOptions;
  /** Called when the engine is closed. */
  readonly onClose?: () => Promise<void>;
}

/** Long answers take long. */
const TIMEOUT_MS = 600_000;
/** A server of a few billion parameters takes minutes to start. */
const AWAY_MAX_MS = 600_000;

/** What was found at the start. */
interface Found {
  readonly contextMax: number;
  readonly tempered: Tempered;
  readonly probes: readonly Int32Array[];
  readonly precision: Precision;
}

/**
 * A `PolicyEngine` on one or more inference servers.
 *
 * `generate` fails with `MODEL_DOWN` when no server answers, `MODEL_REFUSED` or `MODEL_ACCESS` when one
 * refuses, `MODEL_UNSUPPORTED` for what servers cannot do (entropies), `MODEL_LOG_PROBS` if the log-probs
 * would not be the policy's, `WEIGHTS_UNKNOWN` before the first `load`; `load` with `WEIGHTS_REFUSED`,
 * `WEIGHTS_WRONG` or `DIGEST`.
 */
export class RemoteEngine implements PolicyEngine {
  readonly contextMax: number;
  readonly agreement?: AgreementRule;
  readonly #servers: TokenServers;
  readonly #held: HeldWeights;
  readonly #options: RemoteEngineOptions;
  readonly #probes: readonly Int32Array[];
  /** Whether log-probs are those of the sampling temperature. */
  #tempered: Tempered;
  readonly #busy: BusyTime;
  #generatedTokens = 0;
  #prefillTokens = 0;

  private constructor(
    options: RemoteEngineOptions,
    servers: TokenServers,
    publishing: Publishing | null,
    found: Found,
  ) {
    this.#options = options;
    this.#busy = new BusyTime(options.clock);
    this.#servers = servers;
    this.contextMax = found.contextMax;
    this.#tempered = found.tempered;
    this.#probes = found.probes;
    const { precision } = found;
    const base = baseOf(options);
    this.#held = new HeldWeights({ ...options, servers, publishing, base, precision });
    if (options.canary !== undefined)
      this.agreement = { precision, meanMax: options.canary.meanMax };
  }

  /**
   * Asks every server what it serves, and tries it out. Rejects when one of them does not answer, with code
   * `MODEL_OTHER` when it has another model, `WEIGHTS_REFUSED` when it could not take all of a new version's
   * weights, and with `USAGE` if servers of this wire cannot be published to as asked.
   */
  static async create(options: RemoteEngineOptions): Promise<RemoteEngine> {
    const { wire, vocabSize, report = () => undefined } = options;
    const publishing = options.publisher?.(wire) ?? null;
    const pool = new ServerPool({
      ...options,
      timeoutMs: options.timeoutMs ?? TIMEOUT_MS,
      awayMaxMs: options.awayMaxMs ?? AWAY_MAX_MS,
    });
    try {
      const servers = { pool, wire, ...(vocabSize === undefined ? {} : { vocabSize }) };
      const base = baseOf(options);
      const left = await checkModels(servers, base.model);
      if (publishing?.replaces === false) await checkUnreplaced(servers);
      const facts = await factsOf(servers);
      if (publishing?.replaces === true)
        checkReplaceable(servers, { tied: options.tied ?? false }, facts);
      const contextMax = options.contextMax ?? (await contextMaxOf(servers));
      const probes = options.probes ?? ordinaryContexts(vocabSize);
      await checkVocabulary(servers, base);
      for (const line of await compareTokenizers(servers, base, options.texts ?? [])) report(line);
      const tempered = await temperedOf(servers, base, probes);
      if (wire.seedsNeed !== undefined && !(await seedsHold(servers, base, probes)))
        report(
          `${wire.name} does not repeat its tokens for the same seed, so the run will not be repeatable; start the server with ${wire.seedsNeed}`,
        );
      const engine = new RemoteEngine(options, servers, publishing, {
        contextMax,
        tempered,
        probes,
        precision: precisionOf(facts),
      });
      await engine.#held.unloadLeft(left);
      return engine;
    } catch (error) {
      await pool.close();
      throw error;
    }
  }

  async generate(request: GenerateRequest, signal?: AbortSignal): Promise<Generation> {
    this.#check(request);
    if (isShaped(request) && this.#tempered !== 'no') await this.#checkSampling(request);
    signal?.throwIfAborted();
    return this.#busy.during(() => this.#generateOrReload(request, signal));
  }

  /**
   * All servers serve these weights when it resolves; those that are away take them when they are back.
   * Refuses (and goes on with what it has, if weights can coexist) when a server does not take
   * them or does not answer as they would, or when the file here has another digest.
   */
  load(weights: Checkpoint): Promise<void> {
    return this.#held.load(weights);
  }

  /** Returns the trainer to use instead of this one, which remembers its scores of the canary's sequences. */
  compareWith(trainer: TrainerEngine): TrainerEngine {
    if (this.#options.canary === undefined) return trainer;
    const scores = new VersionScores(trainer);
    this.expect((weights, sequences) => scores.follow(weights, sequences), trainer);
    return scores;
  }

  /** Says what the canary's sequences should score under each version, and in which arithmetic. */
  expect(expected: Expected, trainer: Pick<TrainerEngine, 'precision'> = {}): void {
    this.#held.expect(expected, trainer);
  }

  stats(): EngineStats {
    return {
      generatedTokens: this.#generatedTokens,
      prefillTokens: this.#prefillTokens,
      busyMs: this.#busy.ms,
    };
  }

  /** Pending requests reject; adapters are unloaded, everything else on the servers stays. */
  async close(): Promise<void> {
    const { pool } = this.#servers;
    pool.abort();
    await this.#held.close();
    await pool.close();
    await this.#options.onClose?.();
  }

  #check(request: GenerateRequest): void {
    const { tokens, maxTokens, stopTexts = [], entropies = false } = request;
    if (tokens.length === 0) throw new Error('the context is empty: give at least one token');
    if (!(maxTokens >= 1)) throw new Error(`maxTokens is ${maxTokens}: ask for at least one token`);
    if (tokens.length >= this.contextMax) {
      throw new Error(
        `the context has ${tokens.length} tokens and contextMax is ${this.contextMax}: end the conversation earlier`,
      );
    }
    if (entropies) {
      throw new MillraceError(
        'MODEL_UNSUPPORTED',
        'servers give no exact entropies: use the embedded engine',
      );
    }
    if (stopTexts.length > 0 && this.#options.tokenBytes === undefined) {
      throw new MillraceError(
        'MODEL_UNSUPPORTED',
        'stop texts need the bytes of the tokens: make the engine with tokenBytes',
      );
    }
    const refused = this.#servers.wire.refused(request);
    if (refused !== null) throw new MillraceError('MODEL_UNSUPPORTED', refused);
  }

  async #checkSampling(request: GenerateRequest): Promise<void> {
    // Weights loaded since may show what the first ones did not.
    const { current } = this.#held;
    if (this.#tempered === 'unknown' && current !== null)
      this.#tempered = await temperedOf(this.#servers, current, this.#probes);
    if (this.#tempered === 'no') return;
    const how = [`temperature ${request.temperature}`, ...shapedBy(request)].join(', ');
    throw new MillraceError(
      'MODEL_LOG_PROBS',
      this.#tempered === 'yes'
        ? `the servers report log-probs of the sampling distribution (${how}), but training needs those of the policy at temperature 1: ` +
            'start vLLM without --logprobs-mode processed_logprobs, SGLang with SGLANG_RETURN_ORIGINAL_LOGPROB=1, or sample at 1 from all tokens'
        : `the servers may report log-probs of the sampling distribution (${how}) or of the policy; these weights make all tokens about equally likely, so the two cannot be distinguished: sample at temperature 1 from all tokens`,
    );
  }

  /** A restarted server gets its weights again, and may be restarted again during that. */
  async #generateOrReload(request: GenerateRequest, signal?: AbortSignal): Promise<Generation> {
    for (let reloads = 0; ; reloads++) {
      const serving = await this.#held.enter(signal);
      try {
        return await this.#generateWith(serving, request, signal);
      } catch (error) {
        if (serving.weights === null || !isForgotten(error) || reloads === RELOADS_MAX) throw error;
        await this.#held.reload(serving, serving.weights);
      }
    }
  }

  /** For an admitted request. */
  async #generateWith(
    serving: HeldTarget,
    request: GenerateRequest,
    signal: AbortSignal | undefined,
  ): Promise<Generation> {
    try {
      const maxTokens = Math.min(request.maxTokens, this.contextMax - request.tokens.length);
      const asked = { ...request, maxTokens };
      const { tokenBytes } = this.#options;
      const first = await this.#ask(asked, serving, signal);
      // vLLM finds stop texts in a prompt that ends within a character: its decoder then repeats the prompt.
      // We need no report of it.
      const misled = (asked.stopTexts ?? []).length > 0 && endedUnasked(first, asked, tokenBytes);
      const made = misled ? await this.#ask({ ...asked, stopTexts: [] }, serving, signal) : first;
      this.#generatedTokens += made.tokens.length;
      this.#prefillTokens += made.prefillTokens;
      return generationOf(made, asked, { version: serving.version, tokenBytes });
    } finally {
      this.#held.leave(serving);
    }
  }

  async #ask(
    request: GenerateRequest,
    serving: HeldTarget,
    signal: AbortSignal | undefined,
  ): Promise<Answered> {
    const made = await askTokens(this.#servers, request, serving, signal);
    await this.#held.answered(made.server, serving);
    return made;
  }
}

/** How often one request may find its weights gone before it fails. */
const RELOADS_MAX = 1;

/** Whether tokens are drawn from another distribution than the policy's own. */
function isShaped(request: GenerateRequest): boolean {
  const { temperature } = request;
  return (temperature !== 1 && temperature !== 0) || shapedBy(request).length > 0;
}

/** What servers serve without anything loaded into it. */
function baseOf({ model = '' }: RemoteEngineOptions): Serving {
  return { model, adapter: null, label: '' };
}
