/**
 * The embedded policy engine: generation in a worker thread of this process, nothing to install or start.
 *
 * This side only checks requests, passes them on and keeps the counts; the event loop stays free. At most
 * `rowsMax` requests are generated at once and `waitingMax` more wait in order.
 */
import { resolve } from 'node:path';
import { MillraceError, startWorker, type WorkerHandle, workerEntry } from '../../base/index.ts';
import type { AgreementRule } from '../agreement.ts';
import { BusyTime } from '../busyTime.ts';
import { type DecoderConfig, headDim } from '../config.ts';
import type {
  Checkpoint,
  EngineStats,
  GenerateRequest,
  Generation,
  PolicyEngine,
} from '../engine.ts';
import type { WeightBits } from '../lowering/cached.ts';
import { watchLoop } from '../runtime/loopGap.ts';
import { placeOn } from '../runtime/place.ts';
import type { Provider } from '../runtime/provider.ts';
import type { Counts } from './batcher.ts';
import type { OpenArgument } from './rolloutWorker.ts';
import type { TokenBytes } from './tokenBytes.ts';

/** Responses generated at once unless the options say otherwise. */
export const ROWS = 128;

export interface EmbeddedEngineOptions {
  /**
   * Path of the first weights (a policy file or a Hugging Face folder), or a checkpoint with version and
   * digest.
   */
  readonly weights: string | Checkpoint;
  /**
   * Open the first weights with the first request, unless others are loaded before; false by default. An
   * error in them then fails that request.
   */
  readonly lazy?: boolean;
  /** What computes: the CPU by default, the only one whose bits are promised. Tested first. */
  readonly provider?: Provider;
  /**
   * Weights as they are (by default), or in 8 bits: faster, with log-probs some hundredths of a nat from
   * those of a trainer in float32. On the CPU only.
   */
  readonly bits?: WeightBits;
  /** Threads inside an op of the model. */
  readonly threads: number;
  /** Requests generated at once. */
  readonly rowsMax?: number;
  /** Limit of waiting requests; the next one is refused. */
  readonly waitingMax?: number;
  /** Longest context in tokens, prompt and response. */
  readonly contextMax?: number;
  /** Number of ended contexts whose cache is kept for a request that begins alike; 0 turns reuse off. */
  readonly prefixSlots?: number;
  /** Swap weights at a token boundary, or, by default, when the active rollouts have ended; see server.ts. */
  readonly swap?: 'token' | 'rollout';
  /** The bytes of each token (`tokenBytes(tokenizer)`), which requests with stop texts need. */
  readonly tokenBytes?: TokenBytes | undefined;
  readonly clock: { now(): number };
}

export interface EmbeddedEngineStats extends EngineStats {
  /** Context tokens that were copied from another row instead of computed. */
  readonly reusedTokens: number;
  /** Decode steps of the whole batch. */
  readonly steps: number;
  /** Longest stall of this side's event loop since `stats` was last called. */
  readonly loopGapMs: number;
}

const NO_COUNTS: Counts = { generatedTokens: 0, prefillTokens: 0, reusedTokens: 0, steps: 0 };

/**
 * A `PolicyEngine` on ONNX Runtime in a worker thread. On the CPU the same request gives the same bits,
 * whatever else is generated with it.
 */
export class EmbeddedEngine implements PolicyEngine {
  readonly contextMax: number;
  readonly agreement: AgreementRule;
  readonly #worker: WorkerHandle;
  readonly #pendingMax: number;
  readonly #loop = watchLoop();
  readonly #busy: BusyTime;
  #requests = 0;
  #counts = NO_COUNTS;
  #closed = false;

  private constructor(
    worker: WorkerHandle,
    contextMax: number,
    pendingMax: number,
    {
      clock,
      provider = 'cpu',
      bits = 'float32',
    }: Pick<EmbeddedEngineOptions, 'clock' | 'provider' | 'bits'>,
  ) {
    this.#worker = worker;
    this.contextMax = contextMax;
    this.#pendingMax = pendingMax;
    this.#busy = new BusyTime(clock);
    this.agreement = { precision: provider === 'cpu' ? bits : 'unknown', meanMax: null };
  }

  /**
   * Start the worker and load the first weights, unless it is `lazy`. Rejects when they cannot be read, and
   * with code `PROVIDER` when the provider is not there, does not compute what the CPU does, or has no
   * weights in 8 bits.
   */
  static async create(options: EmbeddedEngineOptions): Promise<EmbeddedEngine> {
    const { weights, threads, rowsMax = ROWS, waitingMax = 4096, contextMax = 512 } = options;
    const { bits = 'float32', provider = 'cpu' } = options;
    if (bits !== 'float32' && provider !== 'cpu') {
      throw new MillraceError(
        'PROVIDER',
        `weights in 8 bits (engine.weights=int8) need provider=cpu, not ${provider}`,
      );
    }
    const prefixSlots = options.prefixSlots ?? prefixSlotsFor(rowsMax);
    const worker = startWorker(workerEntry('rolloutWorker', import.meta.url));
    const first =
      typeof weights === 'string' ? { version: 0, uri: resolve(weights), digest: null } : weights;
    const { swap = 'rollout', lazy = false, tokenBytes } = options;
    const batching = { rowsMax, contextMax, prefixSlots, tokenBytes };
    const place = placeOn(provider);
    const argument: OpenArgument = {
      weights: first,
      lazy,
      threads,
      place,
      bits,
      swap,
      ...batching,
    };
    try {
      await worker.call('open', argument);
    } catch (error) {
      await worker.close();
      throw error;
    }
    return new EmbeddedEngine(worker, contextMax, rowsMax + waitingMax, options);
  }

  async generate(request: GenerateRequest, signal?: AbortSignal): Promise<Generation> {
    this.#check(request);
    signal?.throwIfAborted();
    const id = this.#requests++;
    const cancel = () => void this.#worker.call('cancel', { id }).catch(() => undefined);
    signal?.addEventListener('abort', cancel, { once: true });
    try {
      return await this.#busy.during(() => this.#ask(id, request));
    } catch (error) {
      signal?.throwIfAborted();
      throw error;
    } finally {
      signal?.removeEventListener('abort', cancel);
    }
  }

  async #ask(id: number, request: GenerateRequest): Promise<Generation> {
    // a copy, because a view would take its whole buffer along
    const tokens = request.tokens.slice();
    const reply = await this.#worker.call<{ generation: Generation; counts: Counts }>('generate', {
      id,
      request: { ...request, tokens },
    });
    this.#counts = reply.counts;
    return reply.generation;
  }

  #check(request: GenerateRequest): void {
    const { tokens, maxTokens } = request;
    checkSampling(request);
    if (this.#closed) throw new Error('the engine is closed: create another one');
    if (this.#busy.pending >= this.#pendingMax) {
      throw new Error(
        `${this.#busy.pending} requests are pending: start fewer at once, or raise waitingMax`,
      );
    }
    if (tokens.length === 0) throw new Error('the context is empty: give at least one token');
    if (!(maxTokens >= 1)) throw new Error(`maxTokens is ${maxTokens}: ask for at least one token`);
    if (tokens.length >= this.contextMax) {
      throw new Error(
        `the context has ${tokens.length} tokens and contextMax is ${this.contextMax}: ` +
          'end the conversation earlier, or raise contextMax',
      );
    }
  }

  /**
   * Refuses (and keeps the policy it has) when the file is missing or damaged (code `CHECKPOINT`), has
   * another digest (`DIGEST`) or does not fit.
   */
  async load(weights: Checkpoint): Promise<void> {
    if (this.#closed) throw new Error('the engine is closed: create another one');
    await this.#worker.call('load', weights);
  }

  /** Counts as of the last request that ended. */
  stats(): EmbeddedEngineStats {
    return { ...this.#counts, busyMs: this.#busy.ms, loopGapMs: this.#loop.take() };
  }

  /** Pending requests reject; the thread and its memory are gone afterwards. */
  async close(): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    this.#loop.stop();
    await this.#worker.call('close').catch(() => undefined);
    await this.#worker.close();
  }
}

/** Throws when a field of the sampling is out of its range. */
function checkSampling(request: GenerateRequest): void {
  const { temperature, topP = 1, topK = 0, minP = 0, repetitionPenalty = 1, stopTexts } = request;
  const refuse = (name: string, value: unknown, range: string) => {
    throw new Error(`${name} is ${value}: give ${range}`);
  };
  if (!(temperature >= 0 && temperature < Number.POSITIVE_INFINITY))
    refuse('temperature', temperature, '0 or more');
  if (!(topP > 0 && topP <= 1)) refuse('topP', topP, 'more than 0 and at most 1');
  if (!(Number.isInteger(topK) && topK >= 0)) refuse('topK', topK, 'a whole number, 0 for all');
  if (!(minP >= 0 && minP < 1)) refuse('minP', minP, 'at least 0 and below 1');
  if (!(repetitionPenalty > 0)) refuse('repetitionPenalty', repetitionPenalty, 'more than 0');
  if (stopTexts?.includes('')) refuse('a stop text', '""', 'texts of at least one character');
}

/** How many beginnings of contexts are kept for later requests. */
function prefixSlotsFor(rowsMax: number): number {
  return Math.max(256, 2 * rowsMax);
}

/** Bytes of keys and values that an engine holds once it was full: its rows and the kept beginnings. */
export function cacheBytes(
  config: DecoderConfig,
  { rowsMax, contextMax }: { readonly rowsMax: number; readonly contextMax: number },
): number {
  const perToken = 2 * config.layers * config.kvHeads * headDim(config);
  const contexts = rowsMax + prefixSlotsFor(rowsMax);
  return Float32Array.BYTES_PER_ELEMENT * perToken * contexts * contextMax;
}
