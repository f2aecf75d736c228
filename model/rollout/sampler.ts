/**
 * Choose a token from logits, and say how probable it was.
 *
 * The log-prob is at temperature 1, whatever the temperature of the draw: it is what the trainer will compute.
 * Sums run over the vocabulary in order in float64, so equal logits and an equal draw give equal bits.
 */

export interface Sampled {
  readonly token: number;
  /** ln p(token) at temperature 1. */
  readonly logProb: number;
  /** The highest log-probs in falling order, then the sampled one where it is not among them. */
  readonly top: readonly number[];
}

export const TOP_LOG_PROBS = 10;

export interface SampleOptions {
  /** 0 = the most probable token (the lowest id of equals). */
  readonly temperature: number;
  /** In [0, 1); read only at a temperature above 0. */
  readonly uniform: number;
  /** Whether to report the top log-probs. */
  readonly top: boolean;
}

/** A sampler for one vocabulary size; it holds the scratch memory. */
export class Sampler {
  readonly #weights: Float64Array;

  constructor(vocabSize: number) {
    this.#weights = new Float64Array(vocabSize);
  }

  /** `logits` [vocabSize]. Throws when they are not finite. */
  sample(logits: Float32Array, options: SampleOptions): Sampled {
    const best = argmax(logits);
    const max = logits[best]!;
    let total = this.#weigh(logits, max, 1);
    if (!Number.isFinite(total)) {
      throw new Error('the logits are not finite: the weights are broken, load an earlier version');
    }
    const logTotal = max + Math.log(total);
    if (options.temperature !== 1 && options.temperature > 0) {
      total = this.#weigh(logits, max, options.temperature);
    }
    const token = options.temperature > 0 ? this.#invert(options.uniform * total) : best;
    const logProb = logits[token]! - logTotal;
    return { token, logProb, top: options.top ? topLogProbs(logits, token, logTotal) : [] };
  }

  /** Fill the scratch with exp((logit - max) / temperature); its sum. */
  #weigh(logits: Float32Array, max: number, temperature: number): number {
    const weights = this.#weights;
    let total = 0;
    for (let i = 0; i < weights.length; i++) {
      const weight = Math.exp((logits[i]! - max) / temperature);
      weights[i] = weight;
      total += weight;
    }
    return total;
  }

  /** First token at which the running sum passes `target`; the last possible one if rounding leaves none. */
  #invert(target: number): number {
    let sum = 0;
    let last = 0;
    for (let i = 0; i < this.#weights.length; i++) {
      const weight = this.#weights[i]!;
      if (weight === 0) continue;
      sum += weight;
      last = i;
      if (sum > target) return i;
    }
    return last;
  }
}

function argmax(logits: Float32Array): number {
  let best = 0;
  for (let i = 1; i < logits.length; i++) if (logits[i]! > logits[best]!) best = i;
  return best;
}

/** Insertion into a list of ten; a token equal to one already in comes after it. */
function topLogProbs(logits: Float32Array, token: number, logTotal: number): number[] {
  const tokens: number[] = [];
  for (let i = 0; i < logits.length; i++) {
    const logit = logits[i]!;
    if (tokens.length === TOP_LOG_PROBS && logit <= logits[tokens[TOP_LOG_PROBS - 1]!]!) continue;
    let at = tokens.length;
    while (at > 0 && logits[tokens[at - 1]!]! < logit) at--;
    tokens.splice(at, 0, i);
    if (tokens.length > TOP_LOG_PROBS) tokens.pop();
  }
  if (!tokens.includes(token)) tokens.push(token);
  return tokens.map((each) => logits[each]! - logTotal);
}
