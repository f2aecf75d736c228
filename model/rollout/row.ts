/**
 * One request while it is generated: its tokens so far, and how many of them have keys and values in the cache.
 *
 * Between steps every active row has all tokens but the last one cached; a step pushes that last token and
 * draws the next.
 */
import { type Draws, draws } from '../draws.ts';
import type { GenerateRequest } from '../engine.ts';
import type { Sampled } from './sampler.ts';

export interface RowResult {
  readonly tokens: Int32Array;
  readonly logProbs: Float32Array;
  readonly finish: 'stop' | 'length';
  readonly topLogProbs: readonly (readonly number[])[];
}

export class Row {
  readonly id: number;
  readonly temperature: number;
  /** Tokens [0, cached) have keys and values. */
  cached = 0;
  #length: number;
  readonly #request: GenerateRequest;
  readonly #tokens: Int32Array;
  readonly #logProbs: Float32Array;
  readonly #topLogProbs: (readonly number[])[] = [];
  readonly #draws: Draws;

  /** `contextMax` cuts what may be generated. */
  constructor(id: number, request: GenerateRequest, contextMax: number) {
    const prompt = request.tokens.length;
    this.id = id;
    this.temperature = request.temperature;
    this.#request = request;
    this.#length = prompt;
    this.#tokens = new Int32Array(Math.min(contextMax, prompt + request.maxTokens));
    this.#tokens.set(request.tokens);
    this.#logProbs = new Float32Array(this.#tokens.length - prompt);
    this.#draws = draws(...request.draws);
  }

  /** The context so far. */
  get tokens(): Int32Array {
    return this.#tokens.subarray(0, this.#length);
  }

  /** Tokens that must be in the cache before a step can draw the next one. */
  get missing(): number {
    return this.#length - 1 - this.cached;
  }

  /** The draw of the next token; it belongs to the token's place in the context. */
  get uniform(): number {
    return this.#draws.uniform(this.#length);
  }

  get wantsTop(): boolean {
    return this.#topLogProbs.length < this.#request.topLogProbs;
  }

  /** Take the next token; what the row came to when it was the last. */
  append(sampled: Sampled): RowResult | undefined {
    const made = this.#length - this.#request.tokens.length;
    if (this.wantsTop) this.#topLogProbs.push(sampled.top);
    this.#tokens[this.#length++] = sampled.token;
    this.#logProbs[made] = sampled.logProb;
    if (this.#request.stopTokens.includes(sampled.token)) return this.#result('stop');
    return this.#length === this.#tokens.length ? this.#result('length') : undefined;
  }

  #result(finish: 'stop' | 'length'): RowResult {
    const prompt = this.#request.tokens.length;
    return {
      tokens: this.#tokens.slice(prompt, this.#length),
      logProbs: this.#logProbs.slice(0, this.#length - prompt),
      finish,
      topLogProbs: this.#topLogProbs,
    };
  }
}
