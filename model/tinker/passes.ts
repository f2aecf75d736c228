/**
 * A batch on its way through a training service: request by request, what is sent, and what is made of the
 * replies. Lives in a worker thread, since millions of numbers are written and read.
 *
 * A loss that the service has itself needs one pass (`ServiceLoss`: our own service). So does one whose
 * gradient in the log-probs is known beforehand (fine-tuning): if the service
 * adds losses up, `cross_entropy` with the gradient as weights; if it divides by weights, `cispo` with its
 * ratio held at 1 and the gradient as advantages. All else takes two: `forward` says the log-probs, the
 * loss's own graph says c = dLoss/dlogProb, and `importance_sampling` with these very log-probs and the
 * advantage -c has the same gradient, whatever the loss: its ratio is 1, so its slope is c.
 *
 * Services add up losses in their own ways, and the gradient has to be that of *our* loss: what they divide
 * by is multiplied in (`Reduction`). Weights are 0 or 1 if a service divides by their sum.
 */

import { holdsNaN } from '../../base/http/index.ts';
import { MillraceError } from '../../base/index.ts';
import { counted } from '../../base/text/index.ts';
import type { Loss, TrainSequence } from '../engine.ts';
import type { PreparedLoss, ServiceLoss, TargetSequence } from '../losses/loss.ts';
import { prepareLoss } from '../losses/losses.ts';
import { inFloat32 } from '../losses/parts/feeds.ts';
import { rolloutNumbers } from '../losses/parts/rollouts.ts';
import { type Places, targetPlaces } from '../losses/places.ts';
import type { Feeds } from '../runtime/session.ts';
import { StepTally } from '../train/stepTally.ts';
import { type PassBody, passBody } from './encode.ts';
import { isPacked, type PackedSums, packedBody, packedLogProbs, packedSums } from './packed.ts';
import { pieces, type RequestLimits } from './pieces.ts';
import { type LossGraph, lossGraph } from './slopes.ts';

/**
 * How a service adds up the losses of the tokens of a step: `sum` = all of them; `sequence-mean` = the mean
 * over all sequences of (their sum / the sum of their weights).
 */
export type Reduction = 'sum' | 'sequence-mean';

/** How to compute a batch, and in how many requests per pass. */
export interface Plan {
  readonly requests: number;
  /** One pass: the service has the loss, or the gradient is known before the log-probs are. */
  readonly once: boolean;
}

/** What a step reports, except for the gradient's norm, which comes from the service. */
export interface PassReport {
  readonly loss: number;
  readonly numbers: Readonly<Record<string, number>>;
  /** Tokens that went through the model. */
  readonly tokens: number;
  /** Mean over the targets of |old - new log-prob|; NaN if they were not sampled. */
  readonly drift: number;
}

/**
 * Targets whose loss is computed at once: their feeds grow with the square of the sequences for some losses.
 */
const TARGETS_AT_ONCE = 16_384;
const CROSS_ENTROPY = { lossFn: 'cross_entropy' } as const;
const RATIO = { lossFn: 'importance_sampling' } as const;
/** -A · log π, whatever the ratio: it is held between 1 and 1. */
const WEIGHTED_LOG_PROBS = {
  lossFn: 'cispo',
  lossConfig: { clip_low_threshold: 1, clip_high_threshold: 1 },
} as const;
/** In half precision a log-prob may come out slightly above 0. */
const ROUNDING = 1e-2;

/** How to cut and write requests. */
export interface PassOptions {
  readonly reduction: Reduction;
  readonly limits: RequestLimits;
  /** The service takes packed numbers. */
  readonly packed: boolean;
  /** Losses that it computes as we do. */
  readonly losses: readonly string[];
}

export class Passes {
  readonly plan: Plan;
  readonly #batch: readonly TargetSequence[];
  readonly #prepared: PreparedLoss;
  readonly #graph: LossGraph;
  readonly #cut: readonly (readonly number[])[];
  readonly #reduction: Reduction;
  readonly #packed: boolean;
  readonly #feeds: (rows: readonly number[]) => Feeds;
  readonly #tally: StepTally;
  /** What the service computes; null = the loss's graph does. */
  readonly #onService: ServiceLoss | null;
  /** For each token of a row, for what the service computes; null = not requested yet. */
  #weight: ((row: number) => number) | null = null;
  /** The service's sums for its loss. */
  #sums: PackedSums = { loss: 0, tokens: 0, clipped: 0, drift: 0, apart: 0, apartMax: 0 };
  readonly #logProbs = new Map<number, Float32Array>();
  readonly #slopes = new Map<number, Float32Array>();
  /** Sequences to send. */
  readonly #sent: number;
  #drift = 0;
  #targets = 0;
  #checked: boolean;

  private constructor(
    batch: readonly TargetSequence[],
    { prepared, graph, checked }: LossAtHand,
    { reduction, limits, packed, losses }: PassOptions,
  ) {
    const { onService } = prepared;
    const isThere = packed && reduction === 'sum' && losses.includes(onService?.name ?? '');
    this.#onService = isThere ? onService : null;
    this.#packed = packed;
    this.#batch = batch;
    this.#prepared = prepared;
    this.#graph = graph;
    this.#checked = checked;
    this.#reduction = reduction;
    const lengths = batch.map(({ places }) => places.at(-1) ?? 0);
    this.#cut = pieces(lengths, prepared.data === 'pairs' ? 2 : 1, limits, packed);
    this.#sent = this.#cut.reduce((sum, rows) => sum + rows.length, 0);
    this.#feeds = prepared.feeds(batch);
    this.#tally = new StepTally(prepared.tally());
    this.plan = { requests: this.#cut.length, once: graph.linear || isThere };
  }

  /** Fails if a sequence is not one to train on, and with the codes of the loss. */
  static open(sequences: readonly TrainSequence[], loss: LossAtHand, options: PassOptions): Passes {
    const batch = sequences.map(checkedTargets);
    if (batch.every(({ places }) => places.length === 0)) {
      throw new Error('the batch has no target tokens: mask some, or leave the batch out');
    }
    return new Passes(batch, loss, options);
  }

  /** The body of the first pass of two: it requests log-probs. */
  forwardBody(piece: number, modelId: string, number: number): Uint8Array {
    const data = this.#rows(piece).map((row) => {
      const { tokens, places } = this.#batch[row] as TargetSequence;
      return { tokens, values: { places, advantages: null, logProbs: null, weights: null } };
    });
    return this.#body({ route: 'forward', modelId, number, lossFn: 'cross_entropy', data });
  }

  /** Takes the result of `forward`. False = the loss or its gradient is not finite. */
  async took(piece: number, reply: Uint8Array): Promise<boolean> {
    this.#keepLogProbs(piece, reply);
    let finite = true;
    for (const rows of this.#portions(piece)) finite = (await this.#compute(rows)) && finite;
    return finite;
  }

  /** The body of the pass that leaves gradients. */
  async backwardBody(piece: number, modelId: string, number: number): Promise<Uint8Array> {
    const rows = this.#rows(piece);
    if (this.#onService !== null) return this.#wholeBody(piece, modelId, number, this.#onService);
    if (this.plan.once) await this.#slopesAhead(piece);
    const weighted = this.plan.once && this.#reduction === 'sum';
    const data = rows.map((row) => {
      const { tokens, places } = this.#batch[row] as TargetSequence;
      const slopes = this.#slopes.get(row) as Float32Array;
      const factor = this.#reduction === 'sum' ? 1 : places.length * this.#sent;
      const values = slopes.map((slope) => -slope * factor);
      const none = { places, advantages: null, logProbs: null, weights: null };
      if (weighted) return { tokens, values: { ...none, weights: values } };
      const logProbs = this.plan.once ? null : (this.#logProbs.get(row) as Float32Array);
      return { tokens, values: { ...none, advantages: values, logProbs } };
    });
    if (!this.plan.once) for (const row of rows) this.#forget(row);
    const way = weighted ? CROSS_ENTROPY : this.plan.once ? WEIGHTED_LOG_PROBS : RATIO;
    return this.#body({ route: 'forward_backward', modelId, number, ...way, data });
  }

  /** Takes the log-probs of the only pass, for the report. False = the loss is not finite. */
  async finished(piece: number, reply: Uint8Array): Promise<boolean> {
    if (!this.plan.once) return true;
    const finite = this.#onService === null ? await this.took(piece, reply) : this.#computed(reply);
    for (const row of this.#rows(piece)) this.#forget(row);
    return finite;
  }

  /** The only pass of a loss that the service computes. */
  #wholeBody(piece: number, modelId: string, number: number, loss: ServiceLoss): Uint8Array {
    this.#weight ??= loss.weights(this.#batch);
    const weightOf = this.#weight;
    const data = this.#rows(piece).map((row) => {
      const sequence = this.#batch[row] as TargetSequence;
      const { tokens, places, advantages, oldLogProbs: logProbs, importance } = sequence;
      const weight = weightOf(row);
      const weights = importance?.map((factor) => weight * factor) ?? weight;
      const by = 'place' as const;
      return { tokens, values: { places, by, advantages, logProbs, weights } };
    });
    const way = { lossFn: loss.name, lossConfig: loss.config, sums: true };
    return this.#body({ route: 'forward_backward', modelId, number, ...way, data });
  }

  /** Takes what the service computed. False = it is not finite. */
  #computed(reply: Uint8Array): boolean {
    const sums = packedSums(reply);
    if (sums === null) throw refused('it does not say what its loss summed up to');
    const { loss, tokens, clipped, drift, apart, apartMax } = this.#sums;
    this.#sums = {
      loss: loss + sums.loss,
      tokens: tokens + sums.tokens,
      clipped: clipped + sums.clipped,
      drift: drift + sums.drift,
      apart: apart + sums.apart,
      apartMax: Math.max(apartMax, sums.apartMax),
    };
    this.#drift = this.#sums.apart;
    this.#targets = this.#sums.tokens;
    return Object.values(sums).every(Number.isFinite);
  }

  report(): PassReport {
    const { loss, numbers } =
      this.#onService === null
        ? this.#tally.report()
        : {
            loss: this.#sums.loss,
            numbers: rolloutNumbers(this.#sums, Math.max(1, this.#targets)),
          };
    const tokens = this.#batch.reduce((sum, { places }) => sum + (places.at(-1) ?? 0), 0);
    const sampled = this.#prepared.data === 'rollouts';
    const drift = sampled ? this.#drift / Math.max(1, this.#targets) : Number.NaN;
    return { loss, numbers, tokens, drift };
  }

  #body(body: PassBody): Uint8Array {
    return this.#packed ? packedBody(body) : passBody(body);
  }

  #rows(piece: number): readonly number[] {
    return this.#cut[piece] as readonly number[];
  }

  #forget(row: number): void {
    this.#logProbs.delete(row);
    this.#slopes.delete(row);
  }

  /** Rows of a request whose loss is computed at once. */
  #portions(piece: number): readonly (readonly number[])[] {
    const unit = this.#prepared.data === 'pairs' ? 2 : 1;
    const rows = this.#rows(piece);
    const portions: number[][] = [];
    let targets = Number.POSITIVE_INFINITY;
    for (let at = 0; at < rows.length; at += unit) {
      const own = rows.slice(at, at + unit);
      const more = own.reduce((sum, row) => sum + this.#placesOf(row).length, 0);
      if (targets + more > TARGETS_AT_ONCE) {
        portions.push([...own]);
        targets = more;
      } else {
        portions.at(-1)?.push(...own);
        targets += more;
      }
    }
    return portions;
  }

  #placesOf(row: number): Places {
    return (this.#batch[row] as TargetSequence).places;
  }

  async #compute(rows: readonly number[]): Promise<boolean> {
    const feeds = inFloat32(this.#feeds(rows));
    const logProbs = joined(rows.map((row) => this.#logProbs.get(row) as Float32Array));
    if (!this.#checked) await this.#graph.checkEntropies(feeds, logProbs);
    this.#checked = true;
    const { loss, slopes } = await this.#graph.run(feeds, logProbs);
    const vector = (data: Float32Array) => ({ shape: [data.length], data });
    this.#tally.add(feeds, {
      ...{ loss: { shape: [], data: Float32Array.of(loss) } },
      logProbs: vector(logProbs),
    });
    this.#keepSlopes(rows, slopes);
    for (const row of rows) this.#addDrift(row);
    return Number.isFinite(loss) && slopes.every((slope) => Number.isFinite(slope));
  }

  /** The gradient is the same whatever the log-probs are. */
  async #slopesAhead(piece: number): Promise<void> {
    for (const rows of this.#portions(piece)) {
      const feeds = inFloat32(this.#feeds(rows));
      const count = rows.reduce((sum, row) => sum + this.#placesOf(row).length, 0);
      const { slopes } = await this.#graph.run(feeds, new Float32Array(count));
      this.#keepSlopes(rows, slopes);
    }
  }

  #keepSlopes(rows: readonly number[], slopes: Float32Array): void {
    let at = 0;
    for (const row of rows) {
      const end = at + this.#placesOf(row).length;
      this.#slopes.set(row, slopes.slice(at, end));
      at = end;
    }
  }

  #keepLogProbs(piece: number, reply: Uint8Array): void {
    const rows = this.#rows(piece);
    const found = logProbsIn(
      reply,
      rows.map((row) => this.#placesOf(row).at(-1) as number),
    );
    for (const [index, row] of rows.entries()) {
      const all = found[index] as Float32Array;
      const places = this.#placesOf(row);
      const own = new Float32Array(places.length);
      for (let i = 0; i < own.length; i++) own[i] = all[places[i]! - 1]!;
      this.#logProbs.set(row, own);
    }
  }

  #addDrift(row: number): void {
    const { oldLogProbs, places } = this.#batch[row] as TargetSequence;
    const logProbs = this.#logProbs.get(row) as Float32Array;
    for (let i = 0; i < places.length; i++) {
      this.#drift += Math.abs(oldLogProbs[places[i]!]! - logProbs[i]!);
    }
    this.#targets += places.length;
  }
}

/** A loss and its graph; `checked` = it was found not to depend on entropies. */
export interface LossAtHand {
  readonly prepared: PreparedLoss;
  readonly graph: LossGraph;
  readonly checked: boolean;
}

/** The loss that a batch names, with its graph. Fails with code `NO_LOSS` or `LOSS_UNSUPPORTED`. */
export async function lossAtHand(loss: Loss): Promise<LossAtHand> {
  const prepared = await prepareLoss(loss);
  return { prepared, graph: await lossGraph(loss.name, prepared), checked: false };
}

/** Fails with code `LOSS_UNSUPPORTED` if the loss depends on entropies, on a pair of made-up sequences. */
export async function checkLoss({ prepared, graph }: LossAtHand): Promise<void> {
  const length = 24;
  const per = (value: (place: number) => number) =>
    Float32Array.from({ length }, (_, i) => value(i));
  const sequences = [0, 1].map(
    (row): TargetSequence => ({
      tokens: Int32Array.from({ length }, (_, place) => place),
      mask: Uint8Array.from({ length }, (_, place) => (place > 2 ? 1 : 0)),
      places: Array.from({ length: length - 3 }, (_, index) => index + 3),
      advantages: per((place) => Math.sin(place + row)),
      oldLogProbs: per((place) => -3 + Math.sin(3 * place)),
      refLogProbs: per((place) => -3 + Math.sin(5 * place)),
    }),
  );
  const feeds = inFloat32(prepared.feeds(sequences)([0, 1]));
  const logProbs = Float32Array.from({ length: 2 * (length - 3) }, (_, i) => -3 + Math.sin(7 * i));
  await graph.checkEntropies(feeds, logProbs);
}

/** Log-probs of every place of these datums. Fails with code `TRAINER_REPLY` if a reply cannot be used. */
export function logProbsIn(reply: Uint8Array, lengths: readonly number[]): readonly Float32Array[] {
  const outputs = isPacked(reply) ? packedIn(reply) : listsIn(reply);
  if (outputs.length !== lengths.length) {
    throw refused(
      `it has ${counted(outputs.length, 'output')} for ${counted(lengths.length, 'sequence')}`,
    );
  }
  return lengths.map((length, index) => {
    const data = outputs[index];
    if (!isList(data) || data.length !== length) {
      const came = isList(data) ? data.length : 'no';
      throw refused(`sequence ${index} has ${length} tokens, but ${came} log-probs came`);
    }
    const logProbs = new Float32Array(data as ArrayLike<number>);
    const wrong = unusableIn(data);
    if (wrong >= 0) {
      const is = data[wrong] === null ? 'null, which stands for NaN' : data[wrong];
      throw refused(`log-prob ${wrong} of sequence ${index} is ${is}`);
    }
    for (let i = 0; i < length; i++) if (logProbs[i]! > 0) logProbs[i] = 0;
    return logProbs;
  });
}

/** The first place with something that is not a log-prob; -1 if there is none. */
function unusableIn(data: ArrayLike<unknown>): number {
  for (let i = 0; i < data.length; i++) {
    const value = data[i];
    if (!Number.isFinite(value) || (value as number) > ROUNDING) return i;
  }
  return -1;
}

function isList(data: unknown): data is ArrayLike<unknown> {
  return Array.isArray(data) || data instanceof Float32Array;
}

function packedIn(reply: Uint8Array): readonly Float32Array[] {
  const found = packedLogProbs(reply);
  if (found === null) throw refused('its packed numbers do not have the lengths that it names');
  return found;
}

const FIELD = /"logprobs"\s*:\s*\{\s*"data"\s*:\s*\[/g;

/**
 * The list of each output's log-probs. The lists next to them are as long and are not read, where log-probs
 * are written as all known services write them; any other form is read whole.
 */
function listsIn(reply: Uint8Array): readonly unknown[] {
  const text = Buffer.from(reply.buffer, reply.byteOffset, reply.byteLength).toString('latin1');
  try {
    const found = [...text.matchAll(FIELD)].map(({ index, 0: field }): unknown => {
      const from = index + field.length - 1;
      return JSON.parse(text.slice(from, text.indexOf(']', from) + 1));
    });
    if (found.length > 0) return found;
    const { loss_fn_outputs: outputs } = JSON.parse(text) as { readonly loss_fn_outputs?: unknown };
    if (Array.isArray(outputs)) return outputs.map((output) => output?.logprobs?.data);
  } catch {
    throw refused(holdsNaN(text) ? NAN : 'it is not JSON');
  }
  throw refused('it has no outputs');
}

const NAN = 'it answered NaN: its weights or gradients are no longer finite';

function refused(what: string): MillraceError {
  return new MillraceError('TRAINER_REPLY', `the training service's reply cannot be used: ${what}`);
}

function joined(parts: readonly Float32Array[]): Float32Array {
  const all = new Float32Array(parts.reduce((sum, { length }) => sum + length, 0));
  let at = 0;
  for (const part of parts) {
    all.set(part, at);
    at += part.length;
  }
  return all;
}

/** Services silently pad what is too short, so lengths are checked here. */
function checkedTargets(sequence: TrainSequence, row: number): TargetSequence {
  const { tokens, mask, advantages, oldLogProbs } = sequence;
  for (const [name, { length }] of Object.entries({ mask, advantages, oldLogProbs })) {
    if (length !== tokens.length) {
      throw new Error(
        `sequence ${row} has ${tokens.length} tokens but ${length} values of ${name}`,
      );
    }
  }
  for (let place = 0; place < tokens.length; place++) {
    const value = mask[place] as number;
    if (value > 1) throw new Error(`sequence ${row} has ${value} in its mask: give 0 or 1`);
    if ((tokens[place] as number) < 0) {
      throw new Error(`sequence ${row} has token ${tokens[place]}: ids begin at 0`);
    }
  }
  return { ...sequence, places: targetPlaces(mask) };
}
