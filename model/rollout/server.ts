/**
 * Runs the decode loop for as long as there are requests, and swaps the weights between tokens or between
 * rollouts.
 *
 * One loop, one model. A new policy is opened while the rows go on. With `swap: 'rollout'` no request is
 * admitted meanwhile, the active rows run to their end, then the model is replaced. With `'token'` it is
 * replaced as soon as it is open, at a token boundary: active rows go on with the new model, their contexts
 * computed by it from scratch, and their spans say which version made which token. Everything cached is
 * dropped. The loop sleeps when there is nothing to do.
 */
import { messageOf } from '../../base/index.ts';
import type { Checkpoint, GenerateRequest, Generation } from '../engine.ts';
import { Batcher, type BatcherOptions, type Counts, type Outcome } from './batcher.ts';
import type { Forward } from './forward.ts';

/** Makes the model of a version; rejects (and nothing changes) when the weights cannot be used. */
export type OpenForward = (weights: Checkpoint) => Promise<Forward>;

interface Settle<Value> {
  resolve(value: Value): void;
  reject(error: Error): void;
}

interface Swap extends Settle<void> {
  readonly weights: Checkpoint;
  /** Begun when the swap's turn comes; one policy is opened at a time. */
  opening?: Promise<Forward>;
  /** The opening has ended, whether or not it succeeded. */
  opened: boolean;
}

export interface ServerOptions extends BatcherOptions {
  /** Where weights are swapped; see above. */
  readonly swap: 'token' | 'rollout';
}

export class RolloutServer {
  readonly #open: OpenForward;
  readonly #swapAt: ServerOptions['swap'];
  #forward: Forward;
  readonly #batcher: Batcher;
  readonly #pending = new Map<number, Settle<Generation>>();
  readonly #swaps: Swap[] = [];
  /** The loop while it runs. */
  #loop: Promise<void> | undefined;
  #closed = false;

  private constructor(
    open: OpenForward,
    options: ServerOptions,
    forward: Forward,
    version: number,
  ) {
    this.#open = open;
    this.#swapAt = options.swap;
    this.#forward = forward;
    this.#batcher = new Batcher(forward, version, options);
  }

  static async start(
    open: OpenForward,
    options: ServerOptions,
    weights: Checkpoint,
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

  /** Ends a request early; its promise rejects. */
  cancel(id: number): void {
    this.#batcher.cancel(id);
    this.#settle({ id, error: 'the request was cancelled' });
    this.#wake();
  }

  /** Swap the weights. Rejects, and the model stays, when the new ones cannot be opened. */
  load(weights: Checkpoint): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#swaps.push({ weights, resolve, reject, opened: false });
      this.#wake();
    });
  }

  /** Fails what is pending, stops after the current step, and releases the model. */
  async close(): Promise<void> {
    this.#closed = true;
    const error = 'the engine was closed before the request ended';
    for (const id of [...this.#pending.keys()]) this.#settle({ id, error });
    const swaps = this.#swaps.splice(0);
    for (const swap of swaps) swap.reject(new Error(error));
    await this.#loop;
    const unused = await swaps[0]?.opening?.catch(() => undefined);
    await unused?.release();
    await this.#forward.release();
  }

  #wake(): void {
    if (!this.#closed) this.#loop ??= this.#run();
  }

  async #run(): Promise<void> {
    // Requests that arrive in one burst share the first prefill.
    await new Promise(setImmediate);
    while (!this.#closed && (this.#batcher.busy || this.#swaps.length > 0)) {
      try {
        await this.#advance();
      } catch (error) {
        const reason = `the model failed: ${messageOf(error)}`;
        for (const outcome of this.#batcher.abandon(reason)) this.#settle(outcome);
      }
    }
    this.#loop = undefined;
  }

  async #advance(): Promise<void> {
    const swap = this.#swaps[0];
    if (swap !== undefined) {
      this.#beginOpening(swap);
      const idle = this.#batcher.active === 0;
      // with no active row, the loop waits for the swap
      if (idle || (this.#swapAt === 'token' && swap.opened)) await this.#swap(swap);
    }
    if (this.#swapAt === 'token' || this.#swaps.length === 0) await this.#batcher.admit();
    for (const outcome of await this.#batcher.step()) this.#settle(outcome);
  }

  #beginOpening(swap: Swap): void {
    if (swap.opening !== undefined) return;
    swap.opening = this.#open(swap.weights);
    const end = () => {
      swap.opened = true;
    };
    swap.opening.then(end, end);
  }

  async #swap(swap: Swap): Promise<void> {
    try {
      const forward = (await swap.opening) as Forward;
      // closing has settled the swap, and returns what it opened
      if (this.#closed) return;
      const old = this.#forward;
      this.#batcher.replace(forward, swap.weights.version);
      this.#forward = forward;
      await old.release();
      swap.resolve();
    } catch (error) {
      swap.reject(error instanceof Error ? error : new Error(String(error)));
    } finally {
      if (this.#swaps[0] === swap) this.#swaps.shift();
    }
  }

  #settle(outcome: Outcome): void {
    const settle = this.#pending.get(outcome.id);
    this.#pending.delete(outcome.id);
    if ('error' in outcome) settle?.reject(new Error(outcome.error));
    else settle?.resolve({ ...outcome.result, version: outcome.result.spans[0]!.version });
  }
}
