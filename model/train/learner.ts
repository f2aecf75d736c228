/**
 * The learner: parameters, optimiser state and the sessions that compute gradients; lives in a worker thread.
 *
 * One step = micro-batches of forward and backward, gradients added up in float32 arrays in a fixed order, one
 * joint-norm clip, one AdamW update in place. Nothing depends on threads or time, so a step is reproducible.
 */
import type { DecoderConfig, Tensor, Tensors } from '../config.ts';
import type { StepReport, TrainBatch, TrainSequence } from '../engine.ts';
import { type Feeds, openSession, type Session } from '../runtime/session.ts';
import { type AdamWSettings, adamW, clipFactor, jointNorm, type Moments } from './adamw.ts';
import { lossFeeds, termsOf } from './lossFeeds.ts';
import { type MicroBatch, microBatches, pairedMicroBatches } from './microBatches.ts';
import type { PolicyTerms } from './policyTerms.ts';
import { inputLength, sequenceFeeds, type Targets } from './sequenceFeeds.ts';
import { StepTally } from './stepTally.ts';
import { GRADIENT, type Purpose, trainGraph } from './trainGraph.ts';

export interface LearnerSettings extends AdamWSettings {
  /** Joint gradient norm above which gradients are scaled down. */
  readonly gradNormMax: number;
  /** Most tokens (padding included) in one run of the graph. Bounds memory. */
  readonly microBatchTokensMax: number;
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

export class Learner {
  readonly config: DecoderConfig;
  readonly #settings: LearnerSettings;
  readonly #sessions = new Map<string, Promise<Session>>();
  #parameters: Tensors = new Map();
  #optimiser: OptimiserState = { step: 0, moments: new Map() };

  constructor(config: DecoderConfig, tensors: Tensors, settings: LearnerSettings) {
    this.config = config;
    this.#settings = settings;
    this.reset(tensors, null);
  }

  get parameters(): Tensors {
    return this.#parameters;
  }

  get optimiser(): OptimiserState {
    return this.#optimiser;
  }

  /** Take other parameters; without an optimiser state it starts from zero. */
  reset(tensors: Tensors, optimiser: OptimiserState | null): void {
    const perParameter = <T>(make: (tensor: Tensor) => T): Map<string, T> =>
      new Map([...tensors].map(([name, tensor]) => [name, make(tensor)]));
    const zeros = ({ data }: Tensor) => new Float32Array(data.length);
    this.#parameters = tensors;
    this.#optimiser = optimiser ?? {
      step: 0,
      moments: perParameter((tensor) => ({ mean: zeros(tensor), square: zeros(tensor) })),
    };
  }

  /** One optimiser step over the whole batch. */
  async step({ sequences, loss, lr }: TrainBatch): Promise<Omit<StepReport, 'ms'>> {
    const session = await this.#session(loss.kind, termsOf(loss));
    const targets = sequences.map(targetsOf);
    this.#check(targets);
    if (targets.every(({ places }) => places.length === 0))
      throw new Error('the batch has no target tokens: mask some, or leave the batch out');
    const extra = lossFeeds(sequences, targets, loss);
    const tally = new StepTally(loss);
    const gradients = new Map<string, Float32Array>();
    for (const part of this.#cut(targets, loss.kind === 'dpo')) {
      const feeds = { ...sequenceFeeds(targets, part), ...extra(part) };
      const results = await session.run({ ...feeds, ...this.#feeds() });
      this.#accumulate(gradients, results);
      tally.add(feeds, results);
    }
    const norm = jointNorm(gradients.values());
    const applied = Number.isFinite(norm);
    if (applied) this.#update(gradients, lr, clipFactor(norm, this.#settings.gradNormMax));
    const tokens = targets.reduce((sum, item) => sum + inputLength(item), 0);
    return { ...tally.report(), gradNorm: norm, applied, tokens };
  }

  /** What the current parameters say of given sequences. */
  async score(sequences: readonly Int32Array[]): Promise<readonly TokenScores[]> {
    const session = await this.#session('score');
    const targets = sequences.map((tokens) => ({
      tokens,
      places: Array.from({ length: Math.max(0, tokens.length - 1) }, (_, place) => place + 1),
    }));
    this.#check(targets);
    const scores = sequences.map(({ length }) => ({
      logProbs: new Float32Array(length),
      entropies: new Float32Array(length),
    }));
    for (const part of this.#cut(targets)) {
      const results = await session.run({ ...sequenceFeeds(targets, part), ...this.#feeds() });
      let at = 0;
      for (const row of part.rows) {
        const { logProbs, entropies } = scores[row] as TokenScores;
        const end = at + logProbs.length - 1;
        logProbs.set(output(results, 'logProbs').subarray(at, end), 1);
        entropies.set(output(results, 'entropies').subarray(at, end), 1);
        at = end;
      }
    }
    return scores;
  }

  async close(): Promise<void> {
    for (const session of this.#sessions.values()) await (await session).release();
    this.#sessions.clear();
  }

  /** The graph would take a negative id as one counted from the end. */
  #check(targets: readonly Targets[]): void {
    const { vocabSize } = this.config;
    for (const [row, { tokens }] of targets.entries())
      for (const token of tokens)
        if (!(token >= 0 && token < vocabSize))
          throw new Error(`sequence ${row} has token ${token}: the vocabulary has ${vocabSize}`);
  }

  #cut(targets: readonly Targets[], paired = false): readonly MicroBatch[] {
    const cut = paired ? pairedMicroBatches : microBatches;
    return cut(targets.map(inputLength), this.#settings.microBatchTokensMax);
  }

  #feeds(): Feeds {
    return Object.fromEntries(this.#parameters);
  }

  #session(kind: Purpose, terms?: PolicyTerms): Promise<Session> {
    const key = `${kind} ${terms?.kl} ${terms?.entropy}`;
    const known = this.#sessions.get(key);
    if (known !== undefined) return known;
    const { threads } = this.#settings;
    const model = trainGraph(this.config, kind, 'float32', terms);
    const session = openSession(model, { threads });
    this.#sessions.set(key, session);
    return session;
  }

  /** The first micro-batch's arrays become the sums: a run's outputs are ours to keep. */
  #accumulate(gradients: Map<string, Float32Array>, results: Feeds): void {
    for (const name of this.#parameters.keys()) {
      const part = output(results, `${GRADIENT}${name}`);
      const sum = gradients.get(name);
      if (sum === undefined) gradients.set(name, part);
      else for (let i = 0; i < sum.length; i++) sum[i] = (sum[i] as number) + (part[i] as number);
    }
  }

  #update(gradients: ReadonlyMap<string, Float32Array>, lr: number, scale: number): void {
    const step = ++this.#optimiser.step;
    for (const [name, { data }] of this.#parameters) {
      const gradient = gradients.get(name) as Float32Array;
      const moments = this.#optimiser.moments.get(name) as Moments;
      adamW(data, gradient, moments, this.#settings, { lr, step, scale });
    }
  }
}

function targetsOf({ tokens, mask }: TrainSequence): Targets {
  const places: number[] = [];
  for (let place = 1; place < tokens.length; place++) if (mask[place] === 1) places.push(place);
  return { tokens, places };
}

function output(results: Feeds, name: string): Float32Array {
  return results[name]?.data as Float32Array;
}
