/**
 * Chooses a token from the model's probabilities at temperature 1, and says how probable it was.
 *
 * The log-prob and the entropy are at temperature 1 and of the whole vocabulary, however the draw was shaped:
 * they are what the trainer will compute. Sums run over the vocabulary in order in float64, so equal
 * probabilities and an equal draw give equal bits.
 */
import { isShaped, type Repeated, type Shaping, shaped } from './shaping.ts';

export interface Sampled {
  readonly token: number;
  /** ln p(token) at temperature 1. */
  readonly logProb: number;
  /** The highest log-probs in falling order, then the sampled one if it is not among them. */
  readonly top: readonly number[];
  /** Entropy of the probabilities, in nats; 0 unless requested. */
  readonly entropy: number;
}

/** Log-probs reported of a token, unless another number is requested. */
export const TOP_LOG_PROBS = 10;
/**
 * The smallest positive float32 with full precision: smaller values count as this, so that logs are finite.
 */
const SHARE_MIN = 2 ** -126;

export interface SampleOptions {
  /** At temperature 0 the most probable token is taken (the lowest id of equals). */
  readonly shaping: Shaping;
  /** Read only if there is a repetition penalty. */
  readonly repeated: Repeated;
  /** In [0, 1); read only at a temperature above 0. */
  readonly uniform: number;
  /** How many of the top log-probs to report; 0 = none. */
  readonly top: number;
  /** Whether to report the entropy. */
  readonly entropy: boolean;
}

/** `shares` [vocabSize] sum to 1. Throws if they are not numbers. */
export function sample(shares: Float32Array, options: SampleOptions): Sampled {
  const token = choose(shares, options);
  return {
    token,
    logProb: logShare(shares, token),
    top: options.top > 0 ? topLogProbs(shares, token, options.top) : [],
    entropy: options.entropy ? entropyOf(shares) : 0,
  };
}

function choose(shares: Float32Array, { shaping, uniform, repeated }: SampleOptions): number {
  const { temperature } = shaping;
  const best = mostProbable(shares);
  if (!isShaped(shaping) && temperature === 0) return best;
  if (!isShaped(shaping) && temperature === 1) return firstBeyond(shares, uniform) ?? best;
  const weights = isShaped(shaping)
    ? shaped(shares, shaping, repeated)
    : tempered(shares, shares[best]!, temperature);
  const total = weights.reduce((sum, weight) => sum + weight, 0);
  return firstBeyond(weights, uniform * total) ?? highestOf(weights);
}

/** First token at which the running sum passes `target`; none if rounding left the sum a little below it. */
function firstBeyond(weights: Float32Array | Float64Array, target: number): number | undefined {
  let sum = 0;
  for (let i = 0; i < weights.length; i++) {
    sum += weights[i]!;
    if (sum > target) return i;
  }
  return undefined;
}

/** share^(1 / temperature), scaled so that the highest is 1. */
function tempered(shares: Float32Array, best: number, temperature: number): Float64Array {
  return Float64Array.from(shares, (share) => (share / best) ** (1 / temperature));
}

function highestOf(weights: Float32Array | Float64Array): number {
  let best = 0;
  for (let i = 1; i < weights.length; i++) if (weights[i]! > weights[best]!) best = i;
  return best;
}

function mostProbable(shares: Float32Array): number {
  const best = highestOf(shares);
  if (!(shares[best]! > 0)) {
    throw new Error('the logits are not finite: the weights are broken, load an earlier version');
  }
  return best;
}

/** Insertion into a list of `most`; a token equal to one already in comes after it. */
function topLogProbs(shares: Float32Array, token: number, most: number): number[] {
  const tokens: number[] = [];
  for (let i = 0; i < shares.length; i++) {
    const share = shares[i]!;
    if (tokens.length === most && share <= shares[tokens[most - 1]!]!) continue;
    let at = tokens.length;
    while (at > 0 && shares[tokens[at - 1]!]! < share) at--;
    tokens.splice(at, 0, i);
    if (tokens.length > most) tokens.pop();
  }
  if (!tokens.includes(token)) tokens.push(token);
  return tokens.map((each) => logShare(shares, each));
}

function entropyOf(shares: Float32Array): number {
  let entropy = 0;
  for (const share of shares) if (share > 0) entropy -= share * Math.log(share);
  return entropy;
}

function logShare(shares: Float32Array, token: number): number {
  return Math.log(Math.max(SHARE_MIN, shares[token]!));
}
