/**
 * Runs the decode loop for as long as there are requests, and swaps the weights between them.
 *
 * One loop, one model: while a new policy waits to be loaded nobody is admitted, the active rows run to their
 * end, then the model is replaced and everything cached is dropped. The loop sleeps when there is nothing to do.
 */
import type { GenerateRequest, Generation, WeightsRef } from '../engine.ts';
import { Batcher, type BatcherOptions, type Counts, type Outcome } from './batcher.ts';
import type { Forward } from './forward.ts';

/** Makes the model of a version; rejects (and nothing changes) when the weights cannot be used. */
export type OpenForward = (weights: WeightsRef) => Promise<Forward>;

interface Settle<Value> {
  resolve(value: Value): void;
  reject(error: Error): void;
}

interface Swap extends Settle<void> {
  readonly weights: WeightsRef;
}

export class RolloutServer {
  readonly #open: OpenForward;
  #forward: Forward;
  readonly #batcher: Batcher;
  #version: number;
  readonly #pending = new Map<number, Settle<Generation>>();
  readonly #swaps: Swap[] = [];
  /** The loop while it runs. */
  #loop: Promise<void> | undefined;
  #closed = false;

  private constructor(
    open: OpenForward,
    options: BatcherOptions,
    forward: Forward,
    version: number,
  ) {
    this.#open = open;
    this.#forward = forward;
    this.#batcher = new Batcher(forward, options);
    this.#version = version;
  }

  static async start(
    open: OpenForward,
    options: BatcherOptions,
    weights: WeightsRef,
  ): Promise<RolloutServer> {
    return new RolloutServer(open, options, await open(weights), weights.version);
  }

  get counts(): Counts {
    return this.#batcher.counts;
  }

  generate(id: number, request: GenerateRequest): Promise<Generation> {
    return new Promise((resolve, reject) => {
      this.#batcher.submit(id, request);
      this.#pending.set(id, { resolve, reject });
      this.#wake();
    });
  }

  /** End a request early; its promise rejects. */
  cancel(id: number): void {
    this.#batcher.cancel(id);
    this.#settle({ id, error: 'the request was cancelled' });
    this.#wake();
  }

  /** Swap the weights once no row is active. */
  load(weights: WeightsRef): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#swaps.push({ weights, resolve, reject });
      this.#wake();
    });
  }

  /** Fail what is pending, stop after the current step, give the model back. */
  async close(): Promise<void> {
    this.#closed = true;
    const error = 'the engine was closed before the request ended';
    for (const id of [...this.#pending.keys()]) this.#settle({ id, error });
    for (const swap of this.#swaps.splice(0)) swap.reject(new Error(error));
    await this.#loop;
    await this.#forward.release();
  }

  #wake(): void {
    if (!this.#closed) this.#loop ??= this.#run();
  }

  async #run(): Promise<void> {
    // Requests that came in one burst shall share the first prefill.
    await new Promise(setImmediate);
    while (!this.#closed && (this.#batcher.busy || this.#swaps.length > 0)) {
      try {
        await this.#advance();
      } catch (error) {
        const reason = `the model failed: ${error instanceof Error ? error.message : String(error)}`;
        for (const outcome of this.#batcher.abandon(reason)) this.#settle(outcome);
      }
    }
    this.#loop = undefined;
  }

  async #advance(): Promise<void> {
    const swap = this.#swaps[0];
    if (!swap) await this.#batcher.admit();
    else if (this.#batcher.active === 0) await this.#swap(this.#swaps.shift()!);
    for (const outcome of await this.#batcher.step()) this.#settle(outcome);
  }

  async #swap({ weights, resolve, reject }: Swap): Promise<void> {
    try {
      const forward = await this.#open(weights);
      const old = this.#forward;
      this.#batcher.replace(forward);
      this.#forward = forward;
      this.#version = weights.version;
      await old.release();
      resolve();
    } catch (error) {
      reject(error instanceof Error ? error : new Error(String(error)));
    }
  }

  #settle(outcome: Outcome): void {
    const settle = this.#pending.get(outcome.id);
    this.#pending.delete(outcome.id);
    if ('error' in outcome) settle?.reject(new Error(outcome.error));
    else settle?.resolve({ ...outcome.result, version: this.#version });
  }
}
