/**
 * The policy on inference servers: token ids to vLLM, SGLang or another server (its wire), token ids and log-probs back.
 *
 * Keeps the contract of `PolicyEngine` as the embedded engine does, with two differences that lie in the servers: the same
 * request gives the same tokens only as far as the server's arithmetic does not depend on what else it computes, and
 * `load` asks all servers to take weights from a folder that they can read.
 *
 * Holds true:
 * - a generation is made by the weights whose version it says: requests ask for them by name, or nothing is under way
 *   while weights are replaced; a server that says it answered with others is an error, and what was published is compared
 *   with the trainer (canary.ts);
 * - a restarted server is given its weights again, where it shows that it has lost them;
 * - log-probs are at temperature 1, over the whole vocabulary. What servers report depends on how they were started, so it
 *   is tried out at the beginning, and sampling for which they would be wrong is refused;
 * - an adapter that nobody asks for any more is unloaded, the last one when the engine is closed.
 */
import { hasCode, MillraceError, messageOf } from '../../base/errors.ts';
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
import { Canary, type CanaryOptions, type CanaryReading, type Expected } from './canary.ts';
import { endedUnasked, generationOf } from './checkReply.ts';
import { LabelCheck } from './labelCheck.ts';
import {
  checkModels,
  checkUnreplaced,
  checkVocabulary,
  contextMaxOf,
  ordinaryContexts,
  seedsHold,
  type Tempered,
  temperedOf,
} from './probe.ts';
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
  /** The bytes of each token (`tokenBytes(tokenizer)`), which requests with stop texts need. */
  readonly tokenBytes?: TokenBytes;
  /** Contexts of ordinary tokens to try the servers out with; drawn from the vocabulary when left out. */
  readonly probes?: readonly Int32Array[];
  /** Compares what was published with the trainer (`compareWith`); left out = it is not. */
  readonly canary?: CanaryOptions;
  /** Called when the engine is closed. */
  readonly onClose?: () => Promise<void>;
}

/** Weights that are asked for, and by how many requests now. */
interface Target extends Serving {
  readonly version: number;
  /** Null for those that the servers had at the beginning. */
  readonly weights: Checkpoint | null;
  active: number;
  /** Called when the last request under way has ended. */
  readonly idle: (() => void)[];
}

/** Long answers take long. */
const TIMEOUT_MS = 600_000;
/** A server of a few billion parameters takes minutes to start. */
const AWAY_MAX_MS = 600_000;
/** Of the last requests, when the engine is closed. */
const CLOSING_MAX_MS = 5_000;

/** What was found out at the start. */
interface Found {
  readonly contextMax: number;
  readonly tempered: Tempered;
  readonly probes: readonly Int32Array[];
}

/**
 * A `PolicyEngine` on one or more inference servers.
 *
 * `generate` fails with `MODEL_DOWN` when no server answers, `MODEL_REFUSED` or `MODEL_ACCESS` when one refuses,
 * `MODEL_UNSUPPORTED` for what servers cannot do (entropies), `MODEL_LOG_PROBS` where the log-probs would
 * not be the policy's, `WEIGHTS_UNKNOWN` before the first `load`; `load` with `WEIGHTS_REFUSED`, `WEIGHTS_WRONG` or `DIGEST`.
 */
export class RemoteEngine implements PolicyEngine {
  readonly contextMax: number;
  readonly #servers: TokenServers;
  readonly #publishing: Publishing | null;
  readonly #options: RemoteEngineOptions;
  readonly #probes: readonly Int32Array[];
  readonly #canary: Canary | null;
  readonly #labels: LabelCheck | null;
  /** Whether log-probs are those of the temperature that was sampled at. */
  #tempered: Tempered;
  #target: Target | null;
  /** Adapters that the servers hold: the target's and those that requests under way still name. */
  readonly #resident = new Set<Target>();
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
    found: Found,
  ) {
    this.#options = options;
    this.#servers = servers;
    this.#publishing = publishing;
    this.contextMax = found.contextMax;
    this.#tempered = found.tempered;
    this.#probes = found.probes;
    this.#canary = options.canary === undefined ? null : new Canary(servers, options.canary);
    this.#labels =
      publishing?.label === undefined ? null : new LabelCheck(servers.pool, publishing.label);
    const { version } = options;
    this.#target = version === undefined ? null : target(baseOf(options), version, null);
  }

  /**
   * Asks every server what it serves, and tries it out. Rejects when one of them does not answer, with code
   * `MODEL_OTHER` when it has another model, and with `USAGE` where servers of this wire cannot be published to as asked.
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
      const contextMax = options.contextMax ?? (await contextMaxOf(servers));
      const probes = options.probes ?? ordinaryContexts(vocabSize);
      await checkVocabulary(servers, base);
      const tempered = await temperedOf(servers, base, probes);
      if (wire.seedsNeed !== undefined && !(await seedsHold(servers, base, probes)))
        report(
          `${wire.name} draws other tokens for the same seed: the run will not be repeatable; start the server with ${wire.seedsNeed}`,
        );
      const engine = new RemoteEngine(options, servers, publishing, {
        contextMax,
        tempered,
        probes,
      });
      await engine.#unloadLeft(left);
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
    if (this.#pending++ === 0) this.#busySince = this.#options.clock.now();
    try {
      return await this.#generateOrReload(request, signal);
    } finally {
      if (--this.#pending === 0) this.#busyMs += this.#options.clock.now() - this.#busySince;
    }
  }

  /**
   * All servers serve these weights when it resolves; those that are away take them when they are back. Refuses (and goes on with
   * what it has, where weights stand beside each other) when a server does not take them or does not answer as they would,
   * or when the file here has another digest.
   */
  load(weights: Checkpoint): Promise<void> {
    const loaded = this.#loading.then(() => this.#load(weights));
    this.#loading = loaded.catch(() => undefined);
    return loaded;
  }

  /** The trainer to use in the place of this one, which remembers what it says of the canary's sequences. */
  compareWith(trainer: TrainerEngine): TrainerEngine {
    if (this.#canary === null) return trainer;
    const scores = new VersionScores(trainer);
    this.expect((weights, sequences) => scores.follow(weights, sequences));
    return scores;
  }

  /** Who says what the canary's sequences should score under each version. */
  expect(expected: Expected): void {
    if (this.#canary !== null) this.#canary.expected = expected;
  }

  stats(): EngineStats {
    const running = this.#pending > 0 ? this.#options.clock.now() - this.#busySince : 0;
    return {
      generatedTokens: this.#generatedTokens,
      prefillTokens: this.#prefillTokens,
      busyMs: this.#busyMs + running,
    };
  }

  /** Pending requests reject; adapters are unloaded, all else on the servers stays as it is. */
  async close(): Promise<void> {
    const { pool } = this.#servers;
    pool.abort();
    await this.#loading;
    const { clock } = this.#options;
    const enough = new AbortController();
    const unloaded = Promise.all(
      [...this.#resident].map((each) =>
        this.#publishing?.retire(each, this.#asked(), { triesMax: 1, last: true }),
      ),
    ).catch(() => undefined);
    const late = clock.sleep(CLOSING_MAX_MS, enough.signal).catch(() => undefined);
    if (this.#resident.size > 0) await Promise.race([unloaded, late]);
    enough.abort();
    this.#resident.clear();
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
    // Weights that were loaded since may show what the first ones did not.
    if (this.#tempered === 'unknown' && this.#target !== null)
      this.#tempered = await temperedOf(this.#servers, this.#target, this.#probes);
    if (this.#tempered === 'no') return;
    const how = [`temperature ${request.temperature}`, ...shapedBy(request)].join(', ');
    throw new MillraceError(
      'MODEL_LOG_PROBS',
      this.#tempered === 'yes'
        ? `the servers report log-probs of what was sampled from (${how}), not of the policy at temperature 1 as training needs them: ` +
            'start vLLM without --logprobs-mode processed_logprobs, SGLang with SGLANG_RETURN_ORIGINAL_LOGPROB=1, or sample at 1 from all tokens'
        : `whether the servers report log-probs of what is sampled from (${how}) or of the policy cannot be told, for all tokens are about as likely under these weights: sample at temperature 1 from all tokens`,
    );
  }

  #targetOrFail(): Target {
    if (this.#target !== null) return this.#target;
    throw new MillraceError(
      'WEIGHTS_UNKNOWN',
      'it is not known which weights the servers serve: load a version, or say which one they have (version)',
    );
  }

  /** A restarted server gets its weights again, and may be restarted once more while it does. */
  async #generateOrReload(request: GenerateRequest, signal?: AbortSignal): Promise<Generation> {
    for (let reloads = 0; ; reloads++) {
      const serving = await this.#enter(signal);
      try {
        return await this.#generateWith(serving, request, signal);
      } catch (error) {
        if (serving.weights === null || !isForgotten(error) || reloads === RELOADS_MAX) throw error;
        await this.#reload(serving, serving.weights);
      }
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
    if (--serving.active > 0) return;
    for (const tell of serving.idle.splice(0)) tell();
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
      const { tokenBytes } = this.#options;
      const first = await this.#ask(asked, serving, signal);
      // vLLM finds stop texts in a prompt that ends within a character: its decoder then repeats the prompt. We need not be told.
      const misled = (asked.stopTexts ?? []).length > 0 && endedUnasked(first, asked, tokenBytes);
      const made = misled ? await this.#ask({ ...asked, stopTexts: [] }, serving, signal) : first;
      this.#generatedTokens += made.tokens.length;
      this.#prefillTokens += made.prefillTokens;
      return generationOf(made, asked, { version: serving.version, tokenBytes });
    } finally {
      this.#leave(serving);
    }
  }

  async #ask(
    request: GenerateRequest,
    serving: Target,
    signal: AbortSignal | undefined,
  ): Promise<Answered> {
    const made = await askTokens(this.#servers, request, serving, signal);
    if (serving.weights !== null) await this.#labels?.check(made.server, serving.label);
    return made;
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
      else {
        this.#target = await this.#publish(publishing, weights);
        this.#resident.delete(gone);
      }
    });
    this.#loading = loaded.catch(() => undefined);
    return loaded;
  }

  async #standBeside(publishing: Publishing, weights: Checkpoint): Promise<void> {
    const before = this.#target;
    await this.#baseIdle();
    this.#target = await this.#publish(publishing, weights);
    if (before === null) return;
    const { adapter } = this.#target;
    if (before.adapter !== null && before.adapter !== adapter) {
      const retire = () => void this.#retire(publishing, before);
      if (before.active === 0) retire();
      else before.idle.push(retire);
    }
    if (before.active > 0) await this.#canary?.unmoved(before);
  }

  /**
   * Requests for the base model end before a second adapter is loaded: a vLLM (0.32) that has two of them computes the base
   * model's log-probs wrongly in a batch with the second.
   */
  async #baseIdle(): Promise<void> {
    const base = this.#target;
    if (base === null || base.adapter !== null || this.#resident.size === 0) return;
    await ended(base);
  }

  async #retire(publishing: Publishing, old: Target): Promise<void> {
    this.#resident.delete(old);
    this.#canary?.forget(old);
    await publishing.retire(old, this.#asked()).catch(() => undefined);
  }

  /** Adapters of runs that were killed. */
  async #unloadLeft(left: readonly (readonly string[])[]): Promise<void> {
    const { adapters } = this.#servers.wire;
    const names = [...new Set(left.flat())];
    if (adapters === undefined || this.#publishing?.replaces !== false || names.length === 0)
      return;
    this.#options.report?.(
      `unloading adapters that a run left on the servers: ${names.join(', ')}`,
    );
    const { ask } = this.#asked();
    await Promise.all(
      left.flatMap((each, server) => each.map((name) => ask(server, adapters.unload(name)))),
    );
  }

  async #replace(publishing: Publishing, weights: Checkpoint): Promise<void> {
    let done = (): void => undefined;
    this.#replacing = new Promise((resolve) => {
      done = resolve;
    });
    try {
      if (this.#target !== null) await ended(this.#target);
      // Until all of them have taken it, nobody knows what they serve.
      this.#target = null;
      this.#target = await this.#publish(publishing, weights);
    } finally {
      this.#replacing = null;
      done();
    }
  }

  /** Weights that are not what they should be are published once more, in case a server has mixed something up. */
  async #publish(publishing: Publishing, weights: Checkpoint): Promise<Target> {
    for (let attempt = 1; ; attempt++) {
      const published: Published = await publishing.publish(weights, this.#asked());
      const made = target({ ...baseOf(this.#options), ...published }, weights.version, weights);
      if (made.adapter !== null) this.#resident.add(made);
      try {
        if (this.#canary !== null) this.#tell(weights, await this.#canary.check(weights, made));
        return made;
      } catch (error) {
        await this.#retire(publishing, made);
        if (!hasCode(error, 'WEIGHTS_WRONG') || attempt === 2) throw error;
        this.#options.report?.(`${messageOf(error)}; publishing once more`);
      }
    }
  }

  /** Said once each: how near the servers are to the trainer, and that it cannot be told. */
  readonly #told = new Set<string>();
  #tell({ version }: Checkpoint, { gaps }: CanaryReading): void {
    const [what, line] =
      gaps === null
        ? [
            'unknown',
            `the servers' log-probs of version ${version} are compared with nobody's: the trainer works in another process, or had this version before the run was ` +
              'started again; what the servers say of themselves is looked at',
          ]
        : [
            'near',
            `the servers' log-probs of version ${version} agree with the trainer's within ${Math.max(...gaps).toPrecision(2)} nats a token`,
          ];
    if (this.#told.has(what) || gaps?.length === 0) return;
    this.#told.add(what);
    this.#options.report?.(line);
  }

  /** All servers, for publishing. */
  #asked(): Servers {
    const { pool } = this.#servers;
    return {
      urls: pool.urls,
      ask: (server, { path, body }, options) => pool.askServer(server, path, body, options),
    };
  }
}

/** Times that one request finds its weights gone before it fails. */
const RELOADS_MAX = 1;

/** A name that a server does not know any more, or the label of its start. */
function isForgotten(error: unknown): boolean {
  if (hasCode(error, 'WEIGHTS_LOST')) return true;
  return hasCode(error, 'MODEL_ACCESS') && error.context.status === 404;
}

/** Whether tokens are drawn from another distribution than the policy's own. */
function isShaped(request: GenerateRequest): boolean {
  const { temperature } = request;
  return (temperature !== 1 && temperature !== 0) || shapedBy(request).length > 0;
}

/** Resolves when no request names these weights any more. */
async function ended(serving: Target): Promise<void> {
  if (serving.active === 0) return;
  await new Promise<void>((resolve) => serving.idle.push(resolve));
}

function target(serving: Serving, version: number, weights: Checkpoint | null): Target {
  return { ...serving, version, weights, active: 0, idle: [] };
}

/** What servers serve that nothing was loaded into. */
function baseOf({ model = '' }: RemoteEngineOptions): Serving {
  return { model, adapter: null, label: '' };
}
