/**
 * `TrainerEngine` on a training service of the Tinker API: SkyRL, verl's or Twinkle's server, or the hosted
 * one.
 *
 * ```ts
 * const trainer = await TinkerTrainer.create({
 *   url: 'http://127.0.0.1:8000',
 *   policy: '/models/Qwen2.5-3B', // the same weights as the service's
 *   rank: 8,
 *   clock: sleepClock(systemClock),
 * });
 * ```
 *
 * Guarantees:
 * - a step's gradient is that of our loss (passes.ts), whatever the service's own losses are and however it
 *   adds them up;
 * - a batch is never trained twice. If a reply is lost, or the service loses the model, what the model
 *   holds is not known: the last saved state is loaded into a new model, the steps since are made again,
 *   and then this one;
 * - a model that someone else has changed is given up in the same way (batchSteps.ts);
 * - a saved version is two things: what is trained in a file of the run, which engines load, and a place in
 *   the service, from which training continues.
 */
import { existsSync } from 'node:fs';
import { MillraceError } from '../../base/index.ts';
import { digestAt } from '../checkpoints/digest.ts';
import type {
  Checkpoint,
  Loss,
  SavedCheckpoint,
  SaveTarget,
  StepReport,
  TrainBatch,
  TrainerCheckpoint,
  TrainerEngine,
} from '../engine.ts';
import { BatchSteps } from './batchSteps.ts';
import { Refused, StateLost } from './client.ts';
import { TinkerEngine, type TinkerEngineOptions } from './engine.ts';
import type { Reduction } from './passes.ts';
import { type RequestLimits, requestLimits } from './pieces.ts';
import { servicePlace } from './places.ts';
import { type Found, probeLogProbs } from './probe.ts';
import type { AdamParams, RemoteModel } from './remoteModel.ts';
import { type ServiceOptions, TinkerService } from './service.ts';
import { fileOfSnapshot } from './snapshotFile.ts';
import { tryOut } from './tryOut.ts';

/** Which service, which policy on it, and how it is trained. */
export interface TinkerTrainerOptions extends ServiceOptions {
  /** Path of the policy, whose weights are those that the service trains: adapters are published for it. */
  readonly policy: string;
  /** Possible names of the policy on the service; `[policy]` if left out. */
  readonly baseModels?: readonly string[];
  /** Of the low-rank adapter, 8 by default; 0 = all weights are trained. */
  readonly rank?: number;
  /** Of the adapter's first values; 0 by default. */
  readonly seed?: number;
  /** AdamW, if it differs from `adamDefaults`; a service may only use the rate, which is reported. */
  readonly adam?: Partial<Omit<AdamParams, 'lr'>>;
  /** How the service adds up losses; null (default) = test it. */
  readonly reduction?: Reduction | null;
  /**
   * What a save leaves for engines: what is trained in a file of the run (`adapter`, the default; at rank 0
   * all weights), or the `state` in the service alone, which `TinkerEngine` samples.
   */
  readonly publish?: 'adapter' | 'state';
  readonly limits?: RequestLimits;
  /** Milliseconds, for `StepReport.ms`; the process's monotonic clock by default. */
  readonly now?: () => number;
}

/** As the embedded trainer's; gradients are not scaled down. */
export const adamDefaults: Omit<AdamParams, 'lr'> = {
  ...{ beta1: 0.9, beta2: 0.999, eps: 1e-8 },
  ...{ weightDecay: 0.01, gradNormMax: 0 },
};

/**
 * A version that the model can be recreated from: a state in the service, or null for the original policy.
 */
interface Origin {
  readonly version: number;
  readonly state: string | null;
}

/** How often one piece of work is restarted after a loss. */
const LOSSES_MAX = 5;
/** Limit of saved states for comparing an engine with the trainer. */
const STATES_REMEMBERED = 32;
/**
 * Mean distance (nats a token) between the log-probs of rollouts and the service's, before anything was
 * trained.
 */
const DRIFT_MAX = 0.5;

/**
 * Trains on a service. `create` fails with `TRAINER_DOWN`, `TRAINER_ACCESS`, `TRAINER_BASE`,
 * `TRAINER_REDUCTION` and `TRAINER_SETTING`; `step` with `NO_LOSS`, `LOSS_UNSUPPORTED`, `TRAINER_REFUSED`,
 * `TRAINER_LOST` and `TRAINER_BASE`.
 */
export class TinkerTrainer implements TrainerEngine {
  /** Services do not say; ours computes in bfloat16 unless configured otherwise. */
  readonly precision = 'unknown';
  readonly #options: TinkerTrainerOptions;
  readonly #service: TinkerService;
  readonly #found: Found;
  /** Digest of the policy that adapters are published for; undefined = it is not on this machine. */
  readonly #baseDigest: string | undefined;
  readonly #steps: BatchSteps;
  readonly #now: () => number;
  /** What is trained; null = it has to be recreated from its origin. */
  #model: RemoteModel | null = null;
  /** The model's current log-probs of the probe's tokens. */
  #said: Float32Array | null = null;
  /** Its log-probs of them in states that were saved or loaded; the newest ones. */
  readonly #saidOf = new Map<string, Float32Array>();
  #origin: Origin = { version: 0, state: null };
  /** Steps since the origin. */
  #since: TrainBatch[] = [];
  /** A version to score with, besides what is trained. */
  #frozen: { readonly origin: Origin; model: RemoteModel | null } | null = null;
  #scoresFrozen = false;
  #turn: Promise<unknown> = Promise.resolve();

  private constructor(
    options: TinkerTrainerOptions,
    service: TinkerService,
    [found, baseDigest]: readonly [Found, string | undefined],
  ) {
    this.#options = options;
    this.#service = service;
    this.#found = found;
    this.#baseDigest = baseDigest;
    this.#steps = new BatchSteps({
      reduction: found.reduction,
      limits: options.limits ?? requestLimits,
      packed: service.takesPacked,
      losses: service.losses,
      adam: { ...adamDefaults, ...options.adam },
    });
    this.#now = options.now ?? (() => performance.now());
  }

  /** Waits for the service and tests what it supports. */
  static async create(options: TinkerTrainerOptions): Promise<TinkerTrainer> {
    const { policy, baseModels = [policy], reduction = null, adam = {} } = options;
    const { publish = 'adapter', rank } = options;
    const service = await TinkerService.connect(options, baseModels);
    try {
      const clips = (adam.gradNormMax ?? 0) > 0;
      const found = await tryOut(service, specOf(options), { reduction, clips });
      service.client.deduplicates = found.deduplicates;
      const named = publish === 'adapter' && rank !== 0 && existsSync(policy);
      const baseDigest = named ? await digestAt(policy) : undefined;
      return new TinkerTrainer(options, service, [found, baseDigest]);
    } catch (error) {
      service.close();
      throw error;
    }
  }

  /** An engine that samples on this trainer's service; close it before the trainer. */
  sampler(options: TinkerEngineOptions): TinkerEngine {
    const expected = (state: string) => this.#saidOf.get(state) ?? null;
    return new TinkerEngine(this.#service, specOf(this.#options), options, expected);
  }

  /** What the service was found to support. */
  get found(): Found {
    return this.#found;
  }

  /** Fails with `NO_LOSS` or `LOSS_UNSUPPORTED` when nothing can be trained with this loss. */
  check(loss: Loss): Promise<void> {
    return this.#steps.check(loss);
  }

  step(batch: TrainBatch): Promise<StepReport> {
    return this.#inTurn(() => this.#surviving(() => this.#step(batch)));
  }

  /**
   * Log-prob (nats) of every token under the current weights, or those of the version restored to score with.
   */
  score(sequences: readonly Int32Array[]): Promise<readonly { readonly logProbs: Float32Array }[]> {
    return this.#inTurn(() => this.#surviving(() => this.#score(sequences)));
  }

  save(target: SaveTarget): Promise<SavedCheckpoint> {
    return this.#inTurn(() => this.#surviving(() => this.#save(target)));
  }

  restore(saved: TrainerCheckpoint, use: 'train' | 'score'): Promise<void> {
    return this.#inTurn(() => this.#surviving(() => this.#restore(originOf(saved), use)));
  }

  /** Releases the models. */
  async close(): Promise<void> {
    await this.#turn;
    for (const model of [this.#model, this.#frozen?.model]) {
      if (model) await model.unload().catch(() => undefined);
    }
    this.#service.close();
    await this.#steps.close();
  }

  /** One call after the other. */
  #inTurn<T>(work: () => Promise<T>): Promise<T> {
    const answer = this.#turn.then(work);
    this.#turn = answer.catch(() => undefined);
    return answer;
  }

  /** Runs `work`, restarted from the last known state if the models' state becomes unknown. */
  async #surviving<T>(work: () => Promise<T>): Promise<T> {
    for (let losses = 1; ; losses++) {
      try {
        return await work();
      } catch (error) {
        if (error instanceof Refused) throw this.#refused(error);
        if (!(error instanceof StateLost)) throw error;
        await this.#lost();
        if (losses > LOSSES_MAX) {
          throw new MillraceError(
            'TRAINER_LOST',
            `the training service ${this.#service.url} has lost the model ${losses} times; the last time: ${error.message}. See its log, then start the run again: it resumes from its last version.`,
            { cause: error },
          );
        }
        this.#service.print(
          `training service ${this.#service.url}: ${error.message}. The state of the model is unknown; ` +
            `${this.#origin.state ?? 'the policy'} is loaded again${onceMore(this.#since.length)}`,
        );
      }
    }
  }

  #refused(error: Refused): MillraceError {
    return new MillraceError(
      'TRAINER_REFUSED',
      `the training service ${this.#service.url} refused the request (HTTP ${error.status}): ${error.message}`,
      { cause: error },
    );
  }

  /** Discards the current models. */
  async #lost(): Promise<void> {
    const [trained, frozen] = [this.#model, this.#frozen?.model ?? null];
    this.#model = null;
    this.#said = null;
    if (this.#frozen !== null) this.#frozen.model = null;
    for (const model of [trained, frozen]) await model?.unload().catch(() => undefined);
  }

  /** What is trained: its origin and the steps since, recreated if it is lost. */
  async #trained(): Promise<RemoteModel> {
    if (this.#model !== null) return this.#model;
    const model = await this.#made(this.#origin);
    this.#said = await probeLogProbs(model);
    for (const batch of this.#since) await this.#stepOn(model, batch);
    this.#model = model;
    return model;
  }

  async #made({ version, state }: Origin): Promise<RemoteModel> {
    const model = await this.#service.create(specOf(this.#options));
    if (state === null) return model;
    try {
      await model.load(state);
      return model;
    } catch (error) {
      await model.unload().catch(() => undefined);
      if (!(error instanceof Refused)) throw error;
      throw new MillraceError(
        'CHECKPOINT',
        `policy version ${version}: the training service ${this.#service.url} cannot load ${state} (${error.message}). Start it with the same database and ` +
          'checkpoints as before, or go back to a version that it has: millrace rewind RUN --to step=N --into NAME',
        { context: { version, state }, cause: error },
      );
    }
  }

  async #step(batch: TrainBatch): Promise<StepReport> {
    const startedMs = this.#now();
    const model = await this.#trained();
    try {
      const report = await this.#stepOn(model, batch, this.#since.length === 0);
      if (report.applied) this.#since.push(batch);
      else await this.#lost();
      return { ...report, ms: this.#now() - startedMs };
    } catch (error) {
      // gradients of a part of the batch may remain
      if (!(error instanceof StateLost)) await this.#lost();
      throw error;
    }
  }

  async #stepOn(model: RemoteModel, batch: TrainBatch, begins = false) {
    const fromRollouts = begins && this.#origin.state === null;
    const { report, said } = await this.#steps.step(model, batch, {
      said: this.#said,
      drifted: (drift) => {
        if (fromRollouts && drift > DRIFT_MAX) throw this.#otherBase(drift);
      },
    });
    this.#said = said;
    return report;
  }

  #otherBase(drift: number): MillraceError {
    const { policy } = this.#options;
    const { baseModel } = this.#service;
    return new MillraceError(
      'TRAINER_BASE',
      `the training service's '${baseModel}' gives log-probs that differ by ${drift.toPrecision(3)} nats a token from those of the rollouts: ` +
        `its weights differ from ${policy}, which made the rollouts`,
      { context: { baseModel, policy, drift } },
    );
  }

  async #score(sequences: readonly Int32Array[]): Promise<{ readonly logProbs: Float32Array }[]> {
    const model = this.#scoresFrozen ? await this.#toScore() : await this.#trained();
    return this.#steps.score(model, sequences);
  }

  async #toScore(): Promise<RemoteModel> {
    if (this.#frozen === null) throw new Error('there is no version to score with');
    this.#frozen.model ??= await this.#made(this.#frozen.origin);
    return this.#frozen.model;
  }

  async #save(target: SaveTarget): Promise<SavedCheckpoint> {
    const model = await this.#trained();
    const { version } = target;
    const stem = `v${String(version).padStart(6, '0')}`;
    const state = await model.save(stem);
    this.#remember(state);
    const weights = await this.#publish(target, model, state);
    this.#origin = { version, state };
    this.#since = [];
    const { bytes, ...checkpoint } = weights;
    return { weights: checkpoint, state: { version, uri: state, digest: null }, bytes };
  }

  /** What engines load. */
  async #publish(
    target: SaveTarget,
    model: RemoteModel,
    state: string,
  ): Promise<Checkpoint & { readonly bytes: number }> {
    const { version } = target;
    const { publish = 'adapter', policy, rank } = this.#options;
    if (publish === 'state') return { version, uri: state, digest: null, bytes: 0 };
    const { name } = await model.snapshot(`v${version}-weights`);
    const base = rank === 0 ? null : { base: policy, baseDigest: this.#baseDigest };
    const { path, sha256, bytes } = await fileOfSnapshot(model, name, { target, base });
    return { version, uri: path, digest: sha256, bytes };
  }

  async #restore(origin: Origin, use: 'train' | 'score'): Promise<void> {
    this.#scoresFrozen = use === 'score' && !this.#isHere(origin);
    if (this.#scoresFrozen) {
      if (sameOrigin(this.#frozen?.origin, origin)) return;
      await this.#frozen?.model?.unload().catch(() => undefined);
      this.#frozen = { origin, model: null };
      await this.#toScore();
    } else if (!this.#isHere(origin)) {
      const old = this.#model;
      this.#model = null;
      this.#said = null;
      await old?.unload().catch(() => undefined);
      const model = await this.#made(origin);
      this.#said = await probeLogProbs(model);
      this.#origin = origin;
      this.#since = [];
      this.#model = model;
      if (origin.state !== null) this.#remember(origin.state);
    }
  }

  /** Records the model's log-probs of the probe's tokens in this state. */
  #remember(state: string): void {
    if (this.#said === null) return;
    this.#saidOf.set(state, this.#said);
    for (const oldest of this.#saidOf.keys()) {
      if (this.#saidOf.size <= STATES_REMEMBERED) break;
      this.#saidOf.delete(oldest);
    }
  }

  /** Records that the trained model is at this version. */
  #isHere(origin: Origin): boolean {
    return this.#model !== null && this.#since.length === 0 && sameOrigin(this.#origin, origin);
  }
}

function onceMore(steps: number): string {
  if (steps === 0) return '';
  return steps === 1
    ? ', and the step since is repeated'
    : `, and the ${steps} steps since are repeated`;
}

function specOf({ rank = 8, seed = 0 }: TinkerTrainerOptions) {
  return { rank, seed };
}

/**
 * Where training continues from. Fails with code `CHECKPOINT_KIND` for what another kind of trainer wrote.
 */
function originOf({ weights, state }: TrainerCheckpoint): Origin {
  const { version, uri } = weights;
  if (state !== null) return { version, state: servicePlace(state.uri, version) };
  if (version === 0) return { version, state: null };
  return { version, state: servicePlace(uri, version) };
}

function sameOrigin(a: Origin | undefined, b: Origin): boolean {
  return a !== undefined && a.state === b.state;
}
