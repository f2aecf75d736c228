/**
 * One model on a training service: its requests, numbered in the order in which they are made.
 *
 * Requests are sent one after the other and computed in that order; results may be waited for later, so that
 * the service always has the next one.
 */
import { MillraceError } from '../../base/index.ts';
import { type Client, type Future, Refused, type Result } from './client.ts';
import type { Ask } from './transport.ts';

/**
 * AdamW as the wire has it, with the norm above which gradients are scaled down if a service does that.
 */
export interface AdamParams {
  readonly lr: number;
  readonly beta1: number;
  readonly beta2: number;
  readonly eps: number;
  readonly weightDecay: number;
  /** 0 = gradients are not scaled down. */
  readonly gradNormMax: number;
}

/** The two passes over sequences. */
export type Pass = 'forward' | 'forward_backward';

export class RemoteModel {
  readonly id: string;
  readonly #client: Client;
  #requests = 0;
  #names = 0;

  constructor(client: Client, id: string) {
    this.id = id;
    this.#client = client;
  }

  /** Number of the next request, for a body that is written elsewhere. */
  nextNumber(): number {
    this.#requests++;
    return this.#requests;
  }

  /** `body` is complete for the route. Its result comes with `result`. */
  submit(pass: Pass, body: Uint8Array | object): Promise<Future> {
    return this.#client.submit({ route: pass, body }, pass === 'forward' ? 'harmless' : 'numbered');
  }

  result(future: Future): Promise<Result> {
    return this.#client.result(future);
  }

  /** The joint norm of the gradients before any clipping, or NaN if the service does not say. */
  async optimise(adam: AdamParams): Promise<number> {
    const future = await this.submitOptimise(adam);
    return this.gradNorm(future);
  }

  submitOptimise({ lr, beta1, beta2, eps, weightDecay, gradNormMax }: AdamParams): Promise<Future> {
    const params = { learning_rate: lr, beta1, beta2, eps, weight_decay: weightDecay };
    const clipping = gradNormMax > 0 ? { grad_clip_norm: gradNormMax } : {};
    const body = {
      model_id: this.id,
      seq_id: this.nextNumber(),
      adam_params: { ...params, ...clipping },
      type: 'optim_step',
    };
    return this.#client.submit({ route: 'optim_step', body }, 'numbered');
  }

  async gradNorm(future: Future): Promise<number> {
    const { bytes } = await this.#client.result(future);
    return gradNormIn(new TextDecoder().decode(bytes));
  }

  /** Saves what training continues from; returns its place in the service. */
  async save(name: string): Promise<string> {
    return this.#saved('save_weights', () => this.#fresh(name));
  }

  /** Saves the weights for sampling and download, under a new name. */
  async snapshot(name: string): Promise<{ readonly uri: string; readonly name: string }> {
    let used = '';
    const uri = await this.#saved('save_weights_for_sampler', () => {
      used = this.#fresh(name);
      return used;
    });
    return { uri, name: used };
  }

  /** Loads a saved state including the optimiser's. */
  async load(uri: string): Promise<void> {
    const body = {
      model_id: this.id,
      seq_id: this.nextNumber(),
      path: uri,
      optimizer: true,
      type: 'load_weights',
    };
    await this.#client.run({ route: 'load_weights', body });
  }

  /**
   * Hands over the archive of a snapshot as it comes: a tar.gz with an adapter in PEFT's layout, or at rank 0
   * with a Hugging Face folder. Where it breaks off, `take` is called once more, with all of it.
   */
  async archive(name: string, take: NonNullable<Ask['take']>): Promise<void> {
    await this.#client.bytes({
      route: `training_runs/${this.id}/checkpoints/${name}/archive`,
      take,
    });
  }

  /** Samples from a snapshot; `body` is that of `asample`. */
  sample(body: object): Promise<Readonly<Record<string, unknown>>> {
    return this.#client.run({ route: 'asample', body });
  }

  /**
   * Releases its place in the service. Does not wait for a service that does not answer: it frees the place
   * by itself.
   */
  async unload(): Promise<void> {
    const body = { model_id: this.id, type: 'unload_model' };
    await this.#client.run({ route: 'unload_model', body }, 'once');
  }

  /** A name is never used for two states, even if the reply to the first one was lost. */
  #fresh(name: string): string {
    this.#names++;
    return `${name}-${this.#names}`;
  }

  async #saved(route: string, nameOf: () => string): Promise<string> {
    const body = () => ({
      model_id: this.id,
      seq_id: this.nextNumber(),
      path: nameOf(),
      type: route,
    });
    const taken = (error: unknown) => error instanceof Refused && error.status === 409;
    const { path } = await this.#client.run({ route, body: body() }).catch((error) => {
      // the reply to the first attempt was lost, or the name is from an earlier run
      if (taken(error)) return this.#client.run({ route, body: body() });
      throw error;
    });
    if (typeof path === 'string') return path;
    throw new MillraceError(
      'TRAINER_REPLY',
      `${this.#client.url}: the reply to ${route} has no path`,
    );
  }
}

/**
 * Services name it in their own ways (`skyrl.ai/grad_norm`). It may be NaN or Infinity, which is
 * no JSON.
 */
function gradNormIn(text: string): number {
  const found = /"[^"]*grad_norm[^"]*"\s*:\s*"?(-?[\w.+-]+)/.exec(text)?.[1];
  return found === undefined ? Number.NaN : Number(found);
}
