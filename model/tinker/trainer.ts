/**
 * `TrainerEngine` on a training service of the Tinker API: SkyRL, verl's or Twinkle's server, or the hosted one.
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
 * Holds true:
 * - a step's gradient is that of our loss (passes.ts), whatever the service's own losses are and however it adds them up;
 * - a batch is never trained twice. Where a reply is lost, or the service loses the model, what the model holds is not known:
 *   the last saved state is loaded into a new model, the steps since are made once more, and then this one;
 * - before a step, the model is what it was after the last one (its log-probs of a few tokens are looked at): nobody else
 *   has changed it;
 * - a saved version is two things: the adapter in a file of the run, which engines load, and a place in the service, which
 *   training goes on from.
 */
import { mkdir } from 'node:fs/promises';
import { MillraceError, messageOf } from '../../base/errors.ts';
import { saveAdapterFile } from '../adapterFile.ts';
import { localFiles } from '../checkpoints/local.ts';
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
import { adapterIn } from './archive.ts';
import { Refused, StateLost } from './client.ts';
import { TinkerEngine, type TinkerEngineOptions } from './engine.ts';
import type { Reduction } from './passes.ts';
import { PassHandle } from './passHandle.ts';
import { pieces, type RequestLimits, requestLimits } from './pieces.ts';
import { servicePlace } from './places.ts';
import { type Found, probe, probeLogProbs, probeResult, submitProbe } from './probe.ts';
import type { AdamParams, RemoteModel } from './remoteModel.ts';
import { type ModelSpec, type ServiceOptions, TinkerService } from './service.ts';

/** Which service, which policy on it, and how it is trained. */
export interface TinkerTrainerOptions extends ServiceOptions {
  /** Path of the policy: what adapters are published for. Its weights are those that the service trains. */
  readonly policy: string;
  /** Names of which the service calls the policy by one; `[policy]` when left out. */
  readonly baseModels?: readonly string[];
  /** Of the low-rank adapter; 8 by default. */
  readonly rank?: number;
  /** Of the adapter's first values; 0 by default. */
  readonly seed?: number;
  /** AdamW, where it differs from `adamDefaults`; a service may take the rate alone, which is said. */
  readonly adam?: Partial<Omit<AdamParams, 'lr'>>;
  /** How the service adds losses up; null (default) = it is tried out. */
  readonly reduction?: Reduction | null;
  /**
   * What a save leaves for engines: the `adapter` in a file of the run (default), or the `state` in the service alone, which
   * `TinkerEngine` samples.
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

/** A version that the model can be made from: a state in the service, or null for the policy as it is. */
interface Origin {
  readonly version: number;
  readonly state: string | null;
}

/** Requests of a step that the service has and has not answered, so that it is never without work. */
const REQUESTS_OPEN = 3;
/** Times that one piece of work begins once more after a loss. */
const LOSSES_MAX = 5;
/** Log-probs of the probe's tokens that differ by more than this are those of other weights. */
const SAME = 1e-3;
/** Mean distance (nats a token) between the log-probs of rollouts and the service's, before anything was trained. */
const DRIFT_MAX = 0.5;

/**
 * Trains on a service. `create` fails with `TRAINER_DOWN`, `TRAINER_ACCESS`, `TRAINER_BASE`, `TRAINER_REDUCTION` and
 * `TRAINER_SETTING`; `step` with `NO_LOSS`, `LOSS_UNSUPPORTED`, `TRAINER_REFUSED`, `TRAINER_LOST` and `TRAINER_BASE`.
 */
export class TinkerTrainer implements TrainerEngine {
  readonly #options: TinkerTrainerOptions;
  readonly #service: TinkerService;
  readonly #found: Found;
  readonly #passes = new PassHandle();
  readonly #adam: Omit<AdamParams, 'lr'>;
  readonly #now: () => number;
  /** What is trained; null = it has to be made from its origin. */
  #model: RemoteModel | null = null;
  /** What the model says of the probe's tokens, as it is now. */
  #said: Float32Array | null = null;
  #origin: Origin = { version: 0, state: null };
  /** Steps since the origin. */
  #since: TrainBatch[] = [];
  /** A version to score with, beside what is trained. */
  #frozen: { readonly origin: Origin; model: RemoteModel | null } | null = null;
  #scoresFrozen = false;
  #turn: Promise<unknown> = Promise.resolve();

  private constructor(options: TinkerTrainerOptions, service: TinkerService, found: Found) {
    this.#options = options;
    this.#service = service;
    this.#found = found;
    this.#adam = { ...adamDefaults, ...options.adam };
    this.#now = options.now ?? (() => performance.now());
  }

  /** Waits for the service and tries out what it does. */
  static async create(options: TinkerTrainerOptions): Promise<TinkerTrainer> {
    const { policy, baseModels = [policy], reduction = null, adam = {} } = options;
    const service = await TinkerService.connect(options, baseModels);
    try {
      const clips = (adam.gradNormMax ?? 0) > 0;
      const found = await tryOut(service, specOf(options), { reduction, clips });
      service.client.deduplicates = found.deduplicates;
      tell(service, found, clips);
      return new TinkerTrainer(options, service, found);
    } catch (error) {
      service.close();
      throw error;
    }
  }

  /** An engine that samples on this trainer's service; close it before the trainer. */
  sampler(options: TinkerEngineOptions): TinkerEngine {
    return new TinkerEngine(this.#service, specOf(this.#options), options);
  }

  /** What the service was found to do. */
  get found(): Found {
    return this.#found;
  }

  /** Fails with `NO_LOSS` or `LOSS_UNSUPPORTED` when nothing can be trained with this loss. */
  check(loss: Loss): Promise<void> {
    return this.#passes.check(loss);
  }

  step(batch: TrainBatch): Promise<StepReport> {
    return this.#inTurn(() => this.#surviving(() => this.#step(batch)));
  }

  /** Log-prob (nats) of every token under the current weights, or those of the version restored to score with. */
  score(sequences: readonly Int32Array[]): Promise<readonly { readonly logProbs: Float32Array }[]> {
    return this.#inTurn(() => this.#surviving(() => this.#score(sequences)));
  }

  save(target: SaveTarget): Promise<SavedCheckpoint> {
    return this.#inTurn(() => this.#surviving(() => this.#save(target)));
  }

  restore(saved: TrainerCheckpoint, use: 'train' | 'score'): Promise<void> {
    return this.#inTurn(() => this.#surviving(() => this.#restore(originOf(saved), use)));
  }

  /** Gives the models back. */
  async close(): Promise<void> {
    await this.#turn;
    for (const model of [this.#model, this.#frozen?.model]) {
      if (model) await model.unload().catch(() => undefined);
    }
    this.#service.close();
    await this.#passes.close();
  }

  /** One call after the other. */
  #inTurn<T>(work: () => Promise<T>): Promise<T> {
    const answer = this.#turn.then(work);
    this.#turn = answer.catch(() => undefined);
    return answer;
  }

  /** `work`, begun once more from what is known when what the models hold is not. */
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
            `the training service ${this.#service.url} has lost what it was asked ${losses} times, last: ${error.message}. Look at its log; the run goes on from its last version when it is started again.`,
            { cause: error },
          );
        }
        this.#service.print(
          `training service ${this.#service.url}: ${error.message}. What the model holds is not known; ` +
            `${this.#origin.state ?? 'the policy'} is loaded and ${this.#since.length} steps since are made once more`,
        );
      }
    }
  }

  #refused(error: Refused): MillraceError {
    return new MillraceError(
      'TRAINER_REFUSED',
      `the training service ${this.#service.url} refuses (HTTP ${error.status}): ${error.message}`,
      { cause: error },
    );
  }

  /** Whatever the models are now is given up. */
  async #lost(): Promise<void> {
    const [trained, frozen] = [this.#model, this.#frozen?.model ?? null];
    this.#model = null;
    this.#said = null;
    if (this.#frozen !== null) this.#frozen.model = null;
    for (const model of [trained, frozen]) await model?.unload().catch(() => undefined);
  }

  /** What is trained: its origin and the steps since, made once more where that is lost. */
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
        `policy version ${version}: the training service ${this.#service.url} does not load ${state} (${error.message}). Start it with the database and the ` +
          'checkpoints that it had, or go back to a version that it has: millrace rewind RUN --to step=N --into NAME',
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
      // gradients of a part of the batch may lie there
      if (!(error instanceof StateLost)) await this.#lost();
      throw error;
    }
  }

  /** `applied: false` = the model is no longer what it was, and is to be made once more. */
  async #stepOn(
    model: RemoteModel,
    { sequences, loss, lr }: TrainBatch,
    begins = false,
  ): Promise<Omit<StepReport, 'ms'>> {
    const { limits = requestLimits } = this.#options;
    const { reduction } = this.#found;
    const plan = await this.#passes.open({ sequences, loss, reduction, limits });
    const probed = await submitProbe(model);
    const check = async () => this.#checkSame(await probeResult(model, probed));
    const finite = plan.once
      ? await this.#onePass(model, plan.requests, check)
      : await this.#twoPasses(model, plan.requests, check);
    const { drift, ...report } = await this.#passes.report();
    const none = { gradNorm: Number.NaN, applied: false, entropy: null };
    if (begins && drift > DRIFT_MAX && this.#origin.state === null) throw this.#otherBase(drift);
    if (!finite) return { ...report, ...none };
    const future = await model.submitOptimise({ ...this.#adam, lr });
    const after = await submitProbe(model);
    const gradNorm = await model.gradNorm(future);
    this.#said = await probeResult(model, after).catch((error) => {
      if (this.#isUnusable(error)) return null;
      throw error;
    });
    const applied = this.#said !== null && (Number.isNaN(gradNorm) || Number.isFinite(gradNorm));
    return { ...report, gradNorm, applied, entropy: null };
  }

  /** Weights that are not finite say log-probs that cannot be used. */
  #isUnusable(error: unknown): boolean {
    return error instanceof MillraceError && error.code === 'TRAINER_REPLY';
  }

  #checkSame(now: Float32Array): void {
    const said = this.#said;
    if (said === null) return;
    const apart = Math.max(...now.map((value, index) => Math.abs(value - (said[index] as number))));
    if (apart <= SAME) return;
    throw new StateLost(
      `the model was changed by something else since the last step (log-probs are ${apart} apart)`,
    );
  }

  #otherBase(drift: number): MillraceError {
    const { policy } = this.#options;
    const { baseModel } = this.#service;
    return new MillraceError(
      'TRAINER_BASE',
      `the training service's '${baseModel}' gives the rollouts' tokens log-probs that are ${drift.toPrecision(3)} nats a token from those that they were sampled with: ` +
        `it holds other weights than ${policy}, which the rollouts come from`,
      { context: { baseModel, policy, drift } },
    );
  }

  /** Gradients that are known before the log-probs. */
  async #onePass(
    model: RemoteModel,
    requests: number,
    check: () => Promise<void>,
  ): Promise<boolean> {
    const open: Promise<boolean>[] = [];
    let finite = true;
    const settle = async (down: number) => {
      while (open.length > down) finite = ((await open.shift()) as boolean) && finite;
    };
    for (let piece = 0; piece < requests; piece++) {
      const body = await this.#passes.backward(this.#write(model, piece));
      if (piece === 0) await check();
      const future = await model.submit('forward_backward', body);
      open.push(quiet(this.#finished(model, piece, future)));
      await settle(REQUESTS_OPEN - 1);
    }
    await settle(0);
    return finite;
  }

  async #finished(model: RemoteModel, piece: number, future: string): Promise<boolean> {
    const { bytes } = await model.result(future);
    return this.#passes.finished({ piece, bytes });
  }

  /** Log-probs of the whole batch are asked for ahead of the gradients of its beginning. */
  async #twoPasses(
    model: RemoteModel,
    requests: number,
    check: () => Promise<void>,
  ): Promise<boolean> {
    const asked: Promise<boolean>[] = [];
    const left: Promise<unknown>[] = [];
    for (let piece = 0; piece < requests; piece++) {
      const body = await this.#passes.forward(this.#write(model, piece));
      asked.push(quiet(this.#took(model, piece, await model.submit('forward', body))));
      if (piece === 0) await check();
      // replies that wait to be read are as large as what was asked
      if (piece >= REQUESTS_OPEN) await asked[piece - REQUESTS_OPEN];
    }
    for (let piece = 0; piece < requests; piece++) {
      if (!(await asked[piece])) return false;
      const body = await this.#passes.backward(this.#write(model, piece));
      const future = await model.submit('forward_backward', body);
      left.push(quiet(model.result(future)));
      if (left.length >= REQUESTS_OPEN) await left.shift();
    }
    await Promise.all(left);
    return true;
  }

  async #took(model: RemoteModel, piece: number, future: string): Promise<boolean> {
    const { bytes } = await model.result(future);
    return this.#passes.took({ piece, bytes });
  }

  #write(model: RemoteModel, piece: number) {
    return { piece, modelId: model.id, number: model.nextNumber() };
  }

  async #score(sequences: readonly Int32Array[]): Promise<{ readonly logProbs: Float32Array }[]> {
    const model = this.#scoresFrozen ? await this.#toScore() : await this.#trained();
    const scores = sequences.map(({ length }) => ({ logProbs: new Float32Array(length) }));
    const lengths = sequences.map(({ length }) => Math.max(0, length - 1));
    const open: Promise<void>[] = [];
    const take = async (rows: readonly number[], future: string) => {
      const { bytes } = await model.result(future);
      const found = await this.#passes.scores(
        bytes,
        rows.map((row) => lengths[row] as number),
      );
      for (const [index, row] of rows.entries())
        scores[row]?.logProbs.set(found[index] as Float32Array, 1);
    };
    for (const rows of pieces(lengths, 1, this.#options.limits)) {
      const body = await this.#passes.scoreBody({
        sequences: rows.map((row) => sequences[row] as Int32Array),
        modelId: model.id,
        number: model.nextNumber(),
      });
      open.push(quiet(take(rows, await model.submit('forward', body))));
      if (open.length >= REQUESTS_OPEN) await open.shift();
    }
    await Promise.all(open);
    return scores;
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
    const { publish = 'adapter', policy } = this.#options;
    if (publish === 'state') return { version, uri: state, digest: null, bytes: 0 };
    const { name } = await model.snapshot(`v${version}-weights`);
    const adapter = await adapterIn(await model.archive(name));
    const path = localFiles(target).weights;
    await mkdir(target.folder, { recursive: true });
    const { sha256, bytes } = await saveAdapterFile(path, { ...adapter, base: policy });
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
    }
  }

  /** The model that is trained is at this version. */
  #isHere(origin: Origin): boolean {
    return this.#model !== null && this.#since.length === 0 && sameOrigin(this.#origin, origin);
  }
}

function specOf({ rank = 8, seed = 0 }: TinkerTrainerOptions) {
  return { rank, seed };
}

/** On a model that is given back; once more where it is lost meanwhile. */
async function tryOut(
  service: TinkerService,
  spec: ModelSpec,
  wanted: { readonly reduction: Reduction | null; readonly clips: boolean },
): Promise<Found> {
  for (let losses = 1; ; losses++) {
    const model = await service.create(spec);
    try {
      return await probe(model, wanted);
    } catch (error) {
      if (error instanceof MillraceError) throw error;
      if (!(error instanceof StateLost) || losses > LOSSES_MAX) {
        throw new MillraceError(
          'TRAINER_REFUSED',
          `the training service ${service.url} fails when it is tried out: ${messageOf(error)}`,
          { cause: error },
        );
      }
      service.print(`training service ${service.url}: ${error.message}; it is tried out once more`);
    } finally {
      await model.unload().catch(() => undefined);
    }
  }
}

/** What a service does not do is an error where it was asked for, and said where it is a default. */
function tell(service: TinkerService, { adam, clips }: Found, clipping: boolean): void {
  if (clipping && clips !== true) {
    throw new MillraceError(
      'TRAINER_SETTING',
      `the training service ${service.url} does not scale gradients down to the norm that it is asked for: set trainer.gradClipNorm to 0 (AdamW's steps hardly depend on the gradient's size)`,
    );
  }
  if (!adam) {
    service.print(
      `training service ${service.url} takes the learning rate alone: betas, epsilon, weight decay and clipping are those that it was started with`,
    );
  }
}

/** Where training goes on from. Fails with code `CHECKPOINT_KIND` for what another kind of trainer wrote. */
function originOf({ weights, state }: TrainerCheckpoint): Origin {
  const { version, uri } = weights;
  if (state !== null) return { version, state: servicePlace(state.uri, version) };
  if (version === 0) return { version, state: null };
  return { version, state: servicePlace(uri, version) };
}

function sameOrigin(a: Origin | undefined, b: Origin): boolean {
  return a !== undefined && a.state === b.state;
}

/** A promise that is looked at later: until then its failure is nobody's. */
function quiet<T>(promise: Promise<T>): Promise<T> {
  promise.catch(() => undefined);
  return promise;
}
