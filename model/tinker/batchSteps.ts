/**
 * Batches on a model of the service: a step by one pass or two (passes.ts) and the optimiser, and log-probs
 * of sequences.
 *
 * Guarantees:
 * - the service is never without work for us: it has up to three requests, and the next one is written
 *   meanwhile;
 * - memory does not grow with the batch: as many replies as that wait to be read, and no more;
 * - before a step, the model is what it was after the last one (its log-probs of a few tokens are compared):
 *   no one else has changed it.
 */
import { MillraceError } from '../../base/index.ts';
import type { Loss, StepReport, TrainBatch } from '../engine.ts';
import { StateLost } from './client.ts';
import type { Reduction } from './passes.ts';
import { PassHandle } from './passHandle.ts';
import { pieces, type RequestLimits } from './pieces.ts';
import { probeResult, submitProbe } from './probe.ts';
import type { AdamParams, Pass, RemoteModel } from './remoteModel.ts';

export interface BatchStepsOptions {
  /** How the service adds up losses. */
  readonly reduction: Reduction;
  readonly limits: RequestLimits;
  /** The service takes packed numbers. */
  readonly packed: boolean;
  /** Losses that it computes the same way as we do. */
  readonly losses: readonly string[];
  readonly adam: Omit<AdamParams, 'lr'>;
}

export interface StepLooks {
  /** The model's log-probs of the probe's tokens after its last step; null = unknown. */
  readonly said: Float32Array | null;
  /**
   * Called before anything is trained with how far the log-probs of the rollouts are from the service's (nats
   * a token; NaN if no tokens were sampled).
   */
  readonly drifted: (drift: number) => void;
}

export interface Stepped {
  /** `applied: false` = the model is no longer what it was, and the step has to be repeated. */
  readonly report: Omit<StepReport, 'ms'>;
  /** The model's current log-probs of the probe's tokens. */
  readonly said: Float32Array | null;
}

/** Limit of unanswered requests at the service; as many replies wait to be read. */
const REQUESTS_OPEN = 3;
/** Log-probs of the probe's tokens that differ by more than this belong to other weights. */
const SAME = 1e-3;

export class BatchSteps {
  readonly #options: BatchStepsOptions;
  readonly #passes = new PassHandle();

  constructor(options: BatchStepsOptions) {
    this.#options = options;
  }

  /** Fails with `NO_LOSS` or `LOSS_UNSUPPORTED` when nothing can be trained with this loss. */
  check(loss: Loss): Promise<void> {
    return this.#passes.check(loss);
  }

  async step(
    model: RemoteModel,
    { sequences, loss, lr }: TrainBatch,
    { said, drifted }: StepLooks,
  ): Promise<Stepped> {
    const { adam, ...options } = this.#options;
    const opened = quiet(this.#passes.open({ sequences, loss, ...options }));
    const probed = await submitProbe(model);
    const same = quiet(probeResult(model, probed).then((now) => checkSame(said, now)));
    const plan = await opened;
    const finite = plan.once
      ? await this.#onePass(model, plan.requests, same)
      : await this.#twoPasses(model, plan.requests, same);
    const { drift, ...report } = await this.#passes.report();
    const none = { gradNorm: Number.NaN, applied: false, entropy: null };
    drifted(drift);
    if (!finite) return { report: { ...report, ...none }, said };
    const future = await model.submitOptimise({ ...adam, lr });
    const after = await submitProbe(model);
    const gradNorm = await model.gradNorm(future);
    const now = await probeResult(model, after).catch((error) => {
      if (isUnusable(error)) return null;
      throw error;
    });
    const applied = now !== null && (Number.isNaN(gradNorm) || Number.isFinite(gradNorm));
    return { report: { ...report, gradNorm, applied, entropy: null }, said: now };
  }

  /** Log-prob (nats) of every token. */
  async score(
    model: RemoteModel,
    sequences: readonly Int32Array[],
  ): Promise<{ readonly logProbs: Float32Array }[]> {
    const scores = sequences.map(({ length }) => ({ logProbs: new Float32Array(length) }));
    const lengths = sequences.map(({ length }) => Math.max(0, length - 1));
    const { limits, packed } = this.#options;
    const requests = pieces(lengths, 1, limits, packed);
    const read = await this.#send(model, 'forward', requests.length, {
      write: (piece) =>
        this.#passes.scoreBody({
          sequences: rowsOf(requests, piece).map((row) => sequences[row] as Int32Array),
          modelId: model.id,
          number: model.nextNumber(),
          packed,
        }),
      take: async (piece, bytes) => {
        const rows = rowsOf(requests, piece);
        const places = rows.map((row) => lengths[row] as number);
        const found = await this.#passes.scores(bytes, places);
        for (const [index, row] of rows.entries())
          scores[row]?.logProbs.set(found[index] as Float32Array, 1);
        return true;
      },
    });
    await Promise.all(read ?? []);
    return scores;
  }

  close(): Promise<void> {
    return this.#passes.close();
  }

  /** Gradients known before the log-probs. */
  async #onePass(model: RemoteModel, requests: number, same: Promise<void>): Promise<boolean> {
    const read = await this.#send(model, 'forward_backward', requests, {
      write: async (piece) => {
        const body = await this.#passes.backward(this.#asked(model, piece));
        if (piece === 0) await same;
        return body;
      },
      take: (piece, bytes) => this.#passes.finished({ piece, bytes }),
    });
    return (await Promise.all(read ?? [])).every(Boolean);
  }

  /** Log-probs of the whole batch are requested ahead of the gradients of its beginning. */
  async #twoPasses(model: RemoteModel, requests: number, same: Promise<void>): Promise<boolean> {
    const known = await this.#send(model, 'forward', requests, {
      write: (piece) => this.#passes.forward(this.#asked(model, piece)),
      take: (piece, bytes) => this.#passes.took({ piece, bytes }),
    });
    await same;
    const left = await this.#send(model, 'forward_backward', requests, {
      write: async (piece) =>
        (await known?.[piece]) ? this.#passes.backward(this.#asked(model, piece)) : null,
      take: async () => true,
    });
    await Promise.all(left ?? []);
    return left !== null;
  }

  #asked(model: RemoteModel, piece: number) {
    return { piece, modelId: model.id, number: model.nextNumber() };
  }

  /**
   * So many requests, in order, the next one written while the service has those before it. Gives what `take`
   * makes of each reply, the last ones still to come; null = `write` had nothing more to send.
   */
  async #send(
    model: RemoteModel,
    pass: Pass,
    requests: number,
    { write, take }: Conversation,
  ): Promise<readonly Promise<boolean>[] | null> {
    const answered: Promise<unknown>[] = [];
    const read: Promise<boolean>[] = [];
    if (requests === 0) return read;
    let next = quiet(write(0));
    for (let piece = 0; piece < requests; piece++) {
      const body = await next;
      if (body === null) {
        await Promise.all(answered);
        return null;
      }
      if (piece + 1 < requests) next = quiet(write(piece + 1));
      await answered[piece - REQUESTS_OPEN];
      await read[piece - 2 * REQUESTS_OPEN];
      const result = quiet(model.result(await model.submit(pass, body)));
      answered.push(result);
      read.push(quiet(result.then(({ bytes }) => take(piece, bytes))));
    }
    return read;
  }
}

interface Conversation {
  /** The body of a request; null = nothing more to send. */
  write(piece: number): Promise<Uint8Array | null>;
  /** False = what the reply says is not finite. */
  take(piece: number, bytes: Uint8Array): Promise<boolean>;
}

function rowsOf(requests: readonly (readonly number[])[], piece: number): readonly number[] {
  return requests[piece] as readonly number[];
}

/** Weights that are not finite give unusable log-probs. */
function isUnusable(error: unknown): boolean {
  return error instanceof MillraceError && error.code === 'TRAINER_REPLY';
}

function checkSame(said: Float32Array | null, now: Float32Array): void {
  if (said === null) return;
  const apart = Math.max(...now.map((value, index) => Math.abs(value - (said[index] as number))));
  if (apart <= SAME) return;
  throw new StateLost(
    `the model was changed by something else since the last step (log-probs are ${apart} apart)`,
  );
}

/** A promise that is awaited later: until then its failure does not count as unhandled. */
function quiet<T>(promise: Promise<T>): Promise<T> {
  promise.catch(() => undefined);
  return promise;
}
