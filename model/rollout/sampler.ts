/**
 * Choose a token from the probabilities that the model gives at temperature 1, and say how probable it was.
 *
 * The log-prob is at temperature 1, whatever the temperature of the draw: it is what the trainer will compute.
 * Sums run over the vocabulary in order in float64, so equal probabilities and an equal draw give equal bits.
 */

export interface Sampled {
  readonly token: number;
  /** ln p(token) at temperature 1. */
  readonly logProb: number;
  /** The highest log-probs in falling order, then the sampled one where it is not among them. */
  readonly top: readonly number[];
}

export const TOP_LOG_PROBS = 10;
/** The least positive float32 with full precision: what is below it counts as this, so that logs are finite. */
const SHARE_MIN = 2 ** -126;

export interface SampleOptions {
  /** 0 = the most probable token (the lowest id of equals). */
  readonly temperature: number;
  /** In [0, 1); read only at a temperature above 0. */
  readonly uniform: number;
  /** Whether to report the top log-probs. */
  readonly top: boolean;
}

/** `shares` [vocabSize] sum to 1. Throws when they are not numbers. */
export function sample(
  shares: Float32Array,
  { temperature, uniform, top }: SampleOptions,
): Sampled {
  const token = choose(shares, temperature, uniform);
  return { token, logProb: logShare(shares, token), top: top ? topLogProbs(shares, token) : [] };
}

function choose(shares: Float32Array, temperature: number, uniform: number): number {
  if (temperature === 0) return mostProbable(shares);
  if (temperature === 1) return firstBeyond(shares, uniform) ?? mostProbable(shares);
  const weights = tempered(shares, temperature);
  const total = weights.reduce((sum, weight) => sum + weight, 0);
  return firstBeyond(weights, uniform * total) ?? mostProbable(shares);
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
function tempered(shares: Float32Array, temperature: number): Float64Array {
  const best = shares[mostProbable(shares)]!;
  return Float64Array.from(shares, (share) => (share / best) ** (1 / temperature));
}

function mostProbable(shares: Float32Array): number {
  let best = 0;
  for (let i = 1; i < shares.length; i++) if (shares[i]! > shares[best]!) best = i;
  if (!(shares[best]! > 0)) {
    throw new Error('the logits are not finite: the weights are broken, load an earlier version');
  }
  return best;
}

/** Insertion into a list of ten; a token equal to one already in comes after it. */
function topLogProbs(shares: Float32Array, token: number): number[] {
  const tokens: number[] = [];
  for (let i = 0; i < shares.length; i++) {
    const share = shares[i]!;
    if (tokens.length === TOP_LOG_PROBS && share <= shares[tokens[TOP_LOG_PROBS - 1]!]!) continue;
    let at = tokens.length;
    while (at > 0 && shares[tokens[at - 1]!]! < share) at--;
    tokens.splice(at, 0, i);
    if (tokens.length > TOP_LOG_PROBS) tokens.pop();
  }
  if (!tokens.includes(token)) tokens.push(token);
  return tokens.map((each) => logShare(shares, each));
}

function logShare(shares: Float32Array, token: number): number {
  return Math.log(Math.max(SHARE_MIN, shares[token]!));
}
