/**
 * The embedded trainer: `TrainerEngine` over onnxruntime, in one worker thread.
 *
 * ```ts
 * const trainer = await EmbeddedTrainer.create({
 *   policy: { config, tensors: initialise(config, seed) }, // or the path of a policy file
 *   threads: 2,
 * });
 * const { loss } = await trainer.step({ sequences, loss: { name: 'sft' }, lr: 1e-3 });
 * const saved = await trainer.save({ version: 1, folder: '/tmp/checkpoints' });
 * await trainer.restore(saved, 'train');
 * const [scores] = await trainer.score([tokens]); // log-prob and entropy of every token
 * await trainer.close();
 * ```
 *
 * Calls are answered one after the other, in the order in which they were made. The same batches give the
 * same weights bit for bit on any number of threads (DECISIONS.md, D-069), and after `restore` as without it.
 */

import { startWorker, type WorkerHandle, workerEntry } from '../../base/index.ts';
import type { DecoderConfig } from '../config.ts';
import type {
  SavedCheckpoint,
  SaveTarget,
  StepReport,
  TrainBatch,
  TrainerCheckpoint,
  TrainerEngine,
  VersionSizes,
} from '../engine.ts';
import type { WrittenFile } from '../hf/writeTensorFile.ts';
import { type LoopGap, watchLoop } from '../runtime/loopGap.ts';
import { placeOn } from '../runtime/place.ts';
import type { Provider } from '../runtime/provider.ts';
import type { LearnerSettings, TokenScores } from './learner.ts';
import type { AdapterOptions, PolicySource } from './trainee.ts';

export interface TrainerOptions {
  /** Path of a policy file or a Hugging Face folder, or a policy in memory (it is copied). */
  readonly policy: PolicySource;
  /** Trains only a low-rank adapter, over the unchanged policy. */
  readonly adapter?: AdapterOptions;
  /** What computes: the CPU by default, the only one whose bits are promised. Tested first. */
  readonly provider?: Provider;
  /** Threads inside an op; 1 by default. */
  readonly threads?: number;
  /** AdamW, clipping and micro-batch size if they differ from `trainerDefaults`. */
  readonly settings?: Partial<Omit<LearnerSettings, 'threads'>>;
  /** Milliseconds, for `StepReport.ms`; the process's monotonic clock by default. */
  readonly now?: () => number;
}

export const trainerDefaults: LearnerSettings = {
  beta1: 0.9,
  beta2: 0.999,
  eps: 1e-8,
  weightDecay: 0.01,
  decay: 'all',
  gradNormMax: 1,
  microBatchTokensMax: null,
  packing: 'length',
  recompute: false,
  threads: 1,
};

/** The worker's message when it is ready. */
export interface Created {
  readonly config: DecoderConfig;
  readonly sizes: VersionSizes;
}

/**
 * A `TrainerEngine` on ONNX Runtime in a worker thread. `step` fails with code `NO_LOSS` when the loss is not
 * known or its settings are wrong; `restore` with `DIGEST`.
 */
export class EmbeddedTrainer implements TrainerEngine {
  readonly config: DecoderConfig;
  readonly sizes: VersionSizes;
  readonly #worker: WorkerHandle;
  readonly #now: () => number;
  readonly #loop: LoopGap = watchLoop();
  /** Settles when the call before has been answered. */
  #turn: Promise<unknown> = Promise.resolve();

  /** Use `EmbeddedTrainer.create`. */
  constructor(worker: WorkerHandle, { config, sizes }: Created, now: () => number) {
    this.#worker = worker;
    this.config = config;
    this.sizes = sizes;
    this.#now = now;
  }

  /**
   * Start a trainer. Fails when the policy file cannot be read or does not fit its own configuration, and
   * with code `PROVIDER` when the provider is not there or does not compute what the CPU does.
   */
  static async create({
    policy,
    adapter,
    provider,
    threads,
    settings,
    now,
  }: TrainerOptions): Promise<EmbeddedTrainer> {
    const worker = startWorker(workerEntry('trainWorker', import.meta.url));
    const all = { ...trainerDefaults, ...settings, threads: threads ?? trainerDefaults.threads };
    try {
      const created = await worker.call<Created>('create', {
        policy,
        adapter: adapter ?? null,
        settings: all,
        place: placeOn(provider ?? 'cpu'),
      });
      return new EmbeddedTrainer(worker, created, now ?? (() => performance.now()));
    } catch (error) {
      await worker.close();
      throw error;
    }
  }

  async step(batch: TrainBatch): Promise<StepReport> {
    const startedMs = this.#now();
    this.#loop.take();
    const report = await this.#call<Omit<StepReport, 'ms'>>('step', batch);
    return { ...report, ms: this.#now() - startedMs, loopGapMs: this.#loop.take() };
  }

  /** Log-prob and exact entropy (nats) of every token of these sequences under the current weights. */
  score(sequences: readonly Int32Array[]): Promise<readonly TokenScores[]> {
    return this.#call('score', sequences);
  }

  /**
   * Writes two files into the target's folder (model/checkpoints/local.ts): weights, and the optimiser's
   * state. On the CPU the second is written during the next step, until that changes the weights.
   */
  save(target: SaveTarget): Promise<SavedCheckpoint> {
    return this.#call('save', target);
  }

  /** Write the weights alone to a file of this name. */
  write(path: string): Promise<WrittenFile> {
    return this.#call('write', path);
  }

  restore({ weights, state }: TrainerCheckpoint, use: 'train' | 'score'): Promise<void> {
    return this.#call('restore', { weights, state: use === 'train' ? state : null });
  }

  async close(): Promise<void> {
    await this.#turn;
    this.#loop.stop();
    await this.#worker.call('close').finally(() => this.#worker.close());
  }

  #call<Result>(method: string, argument: unknown): Promise<Result> {
    const answer = this.#turn.then(() => this.#worker.call<Result>(method, argument));
    this.#turn = answer.catch(() => undefined);
    return answer;
  }
}
