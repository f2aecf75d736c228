/**
 * The learner: parameters, optimiser state and the sessions that compute gradients; lives in a worker thread.
 *
 * One step = micro-batches of forward and backward, gradients added up in float32 arrays in a fixed order,
 * one joint-norm clip, one AdamW update in place. A micro-batch without a gradient goes forward only: the
 * scoring graph gives the same bits of log-probs, and the sum would gain zeros. Nothing depends on threads or
 * time, so a step is reproducible.
 */

import type { DecoderConfig, Tensor, Tensors } from '../config.ts';
import type { Loss, StepReport, TrainBatch, TrainSequence } from '../engine.ts';
import type { LoraAdapter, LoraFactors } from '../hf/lora.ts';
import type { TargetSequence } from '../losses/loss.ts';
import { prepareLoss } from '../losses/losses.ts';
import { inFloat32 } from '../losses/parts/feeds.ts';
import { allPlaces, targetPlaces } from '../losses/places.ts';
import { adapterNames } from '../lowering/sequences.ts';
import { checkPositions } from '../rope.ts';
import { cpuDevice, type Device } from '../runtime/device.ts';
import type { Feeds, Inputs, Kept, Session } from '../runtime/session.ts';
import { type AdamWSettings, adamW, clipFactor, jointNorm, type Moments } from './adamw.ts';
import { GradientSums } from './gradientSums.ts';
import {
  type MicroBatch,
  microBatches,
  microBatchTokens,
  type Packing,
  pairedMicroBatches,
} from './microBatches.ts';
import { inputLength, sequenceFeeds, type Targets } from './sequenceFeeds.ts';
import { StepTally } from './stepTally.ts';
import { type Purpose, trainGraph } from './trainGraph.ts';

export interface LearnerSettings extends AdamWSettings {
  /** Joint gradient norm above which gradients are scaled down. */
  readonly gradNormMax: number;
  /** What decays: every tensor, or only matrices (not norms and biases). */
  readonly decay: 'all' | 'matrices';
  /** Most tokens (padding included) in one run of the graph; null = by the network's width. Bounds memory. */
  readonly microBatchTokensMax: number | null;
  /**
   * What shares a micro-batch: rows of like length, parts of nearly equal numbers of tokens, or rows of
   * several sequences.
   */
  readonly packing: Packing;
  /**
   * Recompute the inside of a layer for its gradient instead of keeping it: takes about a third more time.
   */
  readonly recompute: boolean;
  readonly threads: number;
}

/** Log-prob and entropy (nats) of every token but the first, at its own place; place 0 holds 0. */
export interface TokenScores {
  readonly logProbs: Float32Array;
  readonly entropies: Float32Array;
}

/** AdamW's state: number of steps taken and the moments of every parameter. */
export interface OptimiserState {
  step: number;
  readonly moments: ReadonlyMap<string, Moments>;
}

/** What a learner trains: parameters, and low-rank adapters over them, which then are trained alone. */
export interface Trainee {
  readonly config: DecoderConfig;
  readonly tensors: Tensors;
  readonly adapter: LoraAdapter | null;
}

export class Learner {
  readonly config: DecoderConfig;
  readonly #settings: LearnerSettings;
  readonly #device: Device;
  readonly #sessions = new Map<string, Promise<Session>>();
  #trainee: Trainee;
  /** What is trained: the adapter's factors if there are any, otherwise all parameters. */
  #trained: Tensors;
  #optimiser: OptimiserState;
  /** The policy under an adapter, which stays where the sessions compute. */
  #fixed: Kept | null = null;

  constructor(trainee: Trainee, settings: LearnerSettings, device: Device = cpuDevice) {
    this.config = trainee.config;
    this.#settings = settings;
    this.#device = device;
    this.#trainee = trainee;
    this.#trained = trainedOf(trainee);
    this.#optimiser = firstState(this.#trained);
  }

  get trainee(): Trainee {
    return this.#trainee;
  }

  /** The trained tensors, in place: a step changes them. */
  get trained(): Tensors {
    return this.#trained;
  }

  get optimiser(): OptimiserState {
    return this.#optimiser;
  }

  /** Takes other weights of the same network; without an optimiser state it starts from zero. */
  async reset(trainee: Trainee, optimiser: OptimiserState | null): Promise<void> {
    if (trainee.tensors !== this.#trainee.tensors) await this.#releaseFixed();
    this.#trainee = trainee;
    this.#trained = trainedOf(trainee);
    this.#optimiser = optimiser ?? firstState(this.#trained);
  }

  /**
   * One optimiser step over the whole batch. What is trained changes only after `unread` has resolved: until
   * then a checkpoint may be written from it.
   */
  async step(
    { sequences, loss, lr }: TrainBatch,
    unread: () => Promise<void> = async () => undefined,
  ): Promise<Omit<StepReport, 'ms'>> {
    const prepared = await prepareLoss(loss);
    const session = await this.#session(sessionKey(loss, prepared.variant), prepared.graph);
    const targets = sequences.map(targetsOf);
    this.#check(targets);
    if (targets.every(({ places }) => places.length === 0))
      throw new Error('the batch has no target tokens: mask some, or leave the batch out');
    const extra = prepared.feeds(targets);
    const tally = new StepTally(prepared.tally());
    const gradients = new GradientSums(this.#trained);
    let forwardOnly = 0;
    await this.#withParameters(async (parameters) => {
      for (const part of this.#cut(targets, prepared.data === 'pairs')) {
        const texts = this.#feeds(targets, part);
        const feeds = { ...texts, ...inFloat32(extra(part.rows)) };
        if (part.rows.some((row) => prepared.learns(targets[row] as TargetSequence))) {
          const results = await session.run({ ...feeds, ...parameters });
          gradients.add(feeds, results);
          tally.add(feeds, results);
        } else {
          const scoring = await this.#session('score', 'score');
          tally.add(feeds, await scoring.run({ ...texts, ...parameters }));
          forwardOnly += part.rows.length;
        }
      }
    });
    const { sums } = gradients;
    const norm = jointNorm(sums.values());
    const applied = Number.isFinite(norm);
    await unread();
    if (applied) this.#update(sums, lr, clipFactor(norm, this.#settings.gradNormMax));
    const tokens = targets.reduce((sum, item) => sum + inputLength(item), 0);
    return { ...tally.report(), gradNorm: norm, applied, tokens, forwardOnly };
  }

  /** The current parameters' scores of given sequences. */
  async score(sequences: readonly Int32Array[]): Promise<readonly TokenScores[]> {
    const session = await this.#session('score', 'score');
    const targets = sequences.map((tokens) => ({ tokens, places: allPlaces(tokens.length) }));
    this.#check(targets);
    const scores = sequences.map(({ length }) => ({
      logProbs: new Float32Array(length),
      entropies: new Float32Array(length),
    }));
    await this.#withParameters(async (parameters) => {
      for (const part of this.#cut(targets)) {
        const results = await session.run({ ...this.#feeds(targets, part), ...parameters });
        let at = 0;
        for (const row of part.rows) {
          const { logProbs, entropies } = scores[row] as TokenScores;
          const end = at + logProbs.length - 1;
          logProbs.set(output(results, 'logProbs').subarray(at, end), 1);
          entropies.set(output(results, 'entropies').subarray(at, end), 1);
          at = end;
        }
      }
    });
    return scores;
  }

  async close(): Promise<void> {
    for (const session of this.#sessions.values()) await (await session).release();
    this.#sessions.clear();
    await this.#releaseFixed();
  }

  /** The graph would take a negative id as one counted from the end. */
  #check(targets: readonly Targets[]): void {
    const { vocabSize } = this.config;
    checkPositions(this.config, Math.max(0, ...targets.map(inputLength)));
    for (const [row, { tokens }] of targets.entries())
      for (const token of tokens)
        if (!(token >= 0 && token < vocabSize))
          throw new Error(
            `sequence ${row} has token ${token}: the vocabulary has only ${vocabSize}`,
          );
  }

  #cut(targets: readonly Targets[], paired = false): readonly MicroBatch[] {
    const cut = paired ? pairedMicroBatches : microBatches;
    const { microBatchTokensMax, packing } = this.#settings;
    const tokensMax = microBatchTokensMax ?? microBatchTokens(this.config);
    return cut(targets.map(inputLength), tokensMax, packing);
  }

  #feeds(targets: readonly Targets[], part: MicroBatch): Feeds {
    return sequenceFeeds(targets, part, this.#settings.packing === 'packed');
  }

  /** Calls `run` with the current parameters, kept where the sessions compute for as long as it takes. */
  async #withParameters(run: (parameters: Inputs) => Promise<void>): Promise<void> {
    const { tensors, adapter } = this.#trainee;
    if (adapter !== null) this.#fixed ??= await this.#device.keep(Object.fromEntries(tensors));
    const kept = await this.#device.keep(Object.fromEntries(this.#trained));
    await run({ ...this.#fixed?.feeds, ...kept.feeds }).finally(() => kept.release());
  }

  async #releaseFixed(): Promise<void> {
    const fixed = this.#fixed;
    this.#fixed = null;
    await fixed?.release();
  }

  #session(key: string, purpose: Purpose): Promise<Session> {
    const known = this.#sessions.get(key);
    if (known !== undefined) return known;
    const { threads, recompute, packing } = this.#settings;
    const modules = this.#trainee.adapter?.modules;
    const model = trainGraph(this.config, purpose, {
      recompute,
      packed: packing === 'packed',
      ...(this.#device.provider === 'cpu' ? { threads } : {}),
      ...(modules === undefined ? {} : { adapters: new Map([...modules].map(shapeOf)) }),
    });
    const session = this.#device.open(model, { threads });
    this.#sessions.set(key, session);
    return session;
  }

  #update(gradients: ReadonlyMap<string, Float32Array>, lr: number, scale: number): void {
    const step = ++this.#optimiser.step;
    for (const [name, { shape, data }] of this.#trained) {
      const decays = this.#settings.decay === 'all' || shape.length > 1;
      const settings = decays ? this.#settings : { ...this.#settings, weightDecay: 0 };
      const gradient = gradients.get(name) as Float32Array;
      const moments = this.#optimiser.moments.get(name) as Moments;
      adamW(data, gradient, moments, settings, { lr, step, scale });
    }
  }
}

function trainedOf({ tensors, adapter }: Trainee): Tensors {
  return adapter === null ? tensors : adapterTensors(adapter);
}

/** Moments of zero. */
function firstState(trained: Tensors): OptimiserState {
  const zeros = ({ data }: Tensor) => new Float32Array(data.length);
  const moments = [...trained].map(([name, tensor]): [string, Moments] => [
    name,
    { mean: zeros(tensor), square: zeros(tensor) },
  ]);
  return { step: 0, moments: new Map(moments) };
}

/** An adapter's factors as parameters; the same arrays. */
export function adapterTensors(adapter: LoraAdapter | null): Tensors {
  const modules = [...(adapter?.modules ?? [])];
  return new Map(
    modules.flatMap(([module, { a, b }]) => {
      const [down, up] = adapterNames(module);
      return [
        [down, a],
        [up, b],
      ] as const;
    }),
  );
}

function shapeOf([module, { a, scale }]: readonly [string, LoraFactors]) {
  return [module, { rank: a.shape[0] as number, scale }] as const;
}

/** Losses whose graphs are the same have the same session. */
function sessionKey({ name, module }: Loss, variant: unknown): string {
  return JSON.stringify([name, module, variant]);
}

function targetsOf(sequence: TrainSequence): TargetSequence {
  return { ...sequence, places: targetPlaces(sequence.mask) };
}

function output(results: Feeds, name: string): Float32Array {
  return results[name]?.data as Float32Array;
}
