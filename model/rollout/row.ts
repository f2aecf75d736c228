/**
 * One request while it is generated: its tokens so far, and how many of them have keys and values in the
 * cache.
 *
 * Between steps every active row has all tokens but the last one cached; a step pushes that last token and
 * draws the next.
 */
import { type Draws, draws } from '../../base/index.ts';
import type { GenerateRequest, Generation, VersionSpan } from '../engine.ts';
import { type Sampled, type SampleOptions, TOP_LOG_PROBS } from './sampler.ts';
import { isShaped, type Shaping } from './shaping.ts';
import { StopTexts } from './stopTexts.ts';
import type { TokenBytes } from './tokenBytes.ts';

export type RowResult = Omit<Generation, 'version'> & { readonly spans: readonly VersionSpan[] };

export interface RowOptions {
  /** Limits what may be generated. */
  readonly contextMax: number;
  /** Needed for requests with stop texts. */
  readonly tokenBytes?: TokenBytes | undefined;
}

export class Row {
  readonly id: number;
  readonly priority: number;
  /** Tokens [0, cached) have keys and values. */
  cached = 0;
  #length: number;
  readonly #request: GenerateRequest;
  readonly #shaping: Shaping;
  readonly #tokens: Int32Array;
  readonly #logProbs: Float32Array;
  readonly #entropies: Float32Array;
  readonly #topLogProbs: (readonly number[])[] = [];
  readonly #spans: VersionSpan[] = [];
  readonly #seen: Set<number>;
  readonly #stops: StopTexts;
  readonly #draws: Draws;

  constructor(id: number, request: GenerateRequest, { contextMax, tokenBytes }: RowOptions) {
    const prompt = request.tokens.length;
    const { temperature, topK = 0, topP = 1, minP = 0, repetitionPenalty = 1 } = request;
    this.id = id;
    this.priority = request.priority ?? 0;
    this.#request = request;
    this.#shaping = { temperature, topK, topP, minP, repetitionPenalty };
    this.#length = prompt;
    this.#tokens = new Int32Array(Math.min(contextMax, prompt + request.maxTokens));
    this.#tokens.set(request.tokens);
    this.#logProbs = new Float32Array(this.#tokens.length - prompt);
    this.#entropies = new Float32Array(request.entropies ? this.#logProbs.length : 0);
    this.#seen = new Set(repetitionPenalty === 1 ? [] : request.tokens);
    this.#stops = new StopTexts(request.stopTexts ?? [], tokenBytes);
    for (const token of request.tokens.subarray(request.stopTextsFrom ?? prompt))
      this.#stops.completedBy(token);
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

  /**
   * How to draw the next token; the draw belongs to the token's place in the context. `peak` = the highest
   * logit.
   */
  sampling(peak: number): SampleOptions {
    const drawn = this.#shaping.temperature > 0;
    const { topLogProbs, logProbsPerToken = TOP_LOG_PROBS } = this.#request;
    return {
      shaping: this.#shaping,
      repeated: { tokens: this.#seen, peak },
      uniform: drawn ? this.#draws.uniform(this.#length) : 0,
      top: this.#topLogProbs.length < topLogProbs ? logProbsPerToken : 0,
      entropy: this.#request.entropies ?? false,
    };
  }

  /** Takes the next token, made by `version`; returns the result of the row if it was the last. */
  append(sampled: Sampled, version: number): RowResult | undefined {
    const { token, logProb, top, entropy } = sampled;
    const made = this.#length - this.#request.tokens.length;
    if (top.length > 0) this.#topLogProbs.push(top);
    if (this.#entropies.length > 0) this.#entropies[made] = entropy;
    if (isShaped(this.#shaping)) this.#seen.add(token);
    this.#tokens[this.#length++] = token;
    this.#logProbs[made] = logProb;
    this.#extend(made, version);
    const stopText = this.#stops.completedBy(token);
    if (stopText !== undefined) return { ...this.#result('stop'), stopText };
    if (this.#request.stopTokens.includes(token)) return this.#result('stop');
    return this.#length === this.#tokens.length ? this.#result('length') : undefined;
  }

  #extend(start: number, version: number): void {
    const last = this.#spans.at(-1);
    if (last?.version === version) this.#spans.pop();
    const from = last?.version === version ? last.start : start;
    this.#spans.push({ start: from, end: start + 1, version });
  }

  #result(finish: 'stop' | 'length'): RowResult {
    const prompt = this.#request.tokens.length;
    const made = this.#length - prompt;
    return {
      tokens: this.#tokens.slice(prompt, this.#length),
      logProbs: this.#logProbs.slice(0, made),
      finish,
      topLogProbs: this.#topLogProbs,
      spans: this.#spans,
      ...(this.#request.entropies ? { entropies: this.#entropies.slice(0, made) } : {}),
    };
  }
}
