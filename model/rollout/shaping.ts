/**
 * What a request does to the probabilities before a token is drawn: repetition penalty, temperature, min-p,
 * top-k, top-p, in this order, as in vLLM.
 *
 * Weights are relative: the highest is 1 and they do not add up to 1. Where weights are equal the lower id
 * counts as the more probable, so that what is kept does not depend on how a sort treats equals.
 */

export interface Shaping {
  readonly temperature: number;
  /** Keep only this many of the most probable tokens; 0 = all. */
  readonly topK: number;
  /** Keep the fewest of the most probable tokens that together have at least this share; 1 = all. */
  readonly topP: number;
  /** Keep tokens with at least this part of the highest probability; 0 = all. */
  readonly minP: number;
  /**
   * Logits of tokens in the context are divided by this if positive, multiplied if negative; 1 = unchanged.
   */
  readonly repetitionPenalty: number;
}

/** Tokens that the penalty falls on, and the highest logit, which says where the logits have their zero. */
export interface Repeated {
  readonly tokens: ReadonlySet<number>;
  readonly peak: number;
}

/** Whether it sets anything besides the temperature. */
export function isShaped({ topK, topP, minP, repetitionPenalty }: Shaping): boolean {
  return topK > 0 || topP < 1 || minP > 0 || repetitionPenalty !== 1;
}

/** Relative weights [vocabSize] of the tokens that may be drawn, 0 for the others; `shares` sum to 1. */
export function shaped(shares: Float32Array, shaping: Shaping, repeated: Repeated): Float64Array {
  const weights = tempered(shares, shaping, repeated);
  if (shaping.minP > 0) {
    for (let i = 0; i < weights.length; i++) if (weights[i]! < shaping.minP) weights[i] = 0;
  }
  if (shaping.topK > 0) keepHighest(weights, shaping.topK);
  if (shaping.topP < 1) keepShare(weights, shaping.topP);
  return weights;
}

/**
 * exp of the penalised logits over the temperature, scaled so that the highest is 1. At 0 only the highest is
 * left.
 */
function tempered(
  shares: Float32Array,
  { temperature, repetitionPenalty }: Shaping,
  { tokens, peak }: Repeated,
): Float64Array {
  let best = 0;
  for (let i = 1; i < shares.length; i++) if (shares[i]! > shares[best]!) best = i;
  const zero = Math.log(shares[best]!) - peak;
  const logits = Float64Array.from(shares, (share) => Math.log(share) - zero);
  if (repetitionPenalty !== 1)
    for (const token of tokens) {
      const logit = logits[token]!;
      logits[token] = logit > 0 ? logit / repetitionPenalty : logit * repetitionPenalty;
    }
  const highest = logits.reduce((most, logit) => Math.max(most, logit), Number.NEGATIVE_INFINITY);
  if (temperature > 0) return logits.map((logit) => Math.exp((logit - highest) / temperature));
  const first = logits.indexOf(highest);
  return logits.fill(0).fill(1, first, first + 1);
}

function keepHighest(weights: Float64Array, count: number): void {
  if (count >= weights.length) return;
  const least = weights.toSorted()[weights.length - count]!;
  let equals = count;
  for (const weight of weights) if (weight > least) equals--;
  for (let i = 0; i < weights.length; i++) {
    const weight = weights[i]!;
    if (weight < least || (weight === least && equals-- <= 0)) weights[i] = 0;
  }
}

function keepShare(weights: Float64Array, share: number): void {
  const total = weights.reduce((sum, weight) => sum + weight, 0);
  // all tokens below this together have less than 1 - share, so none of them is needed
  const needless = ((1 - share) * total) / weights.length;
  const order: number[] = [];
  for (let i = 0; i < weights.length; i++) if (weights[i]! >= needless) order.push(i);
  order.sort((a, b) => weights[b]! - weights[a]! || a - b);
  const kept = new Set<number>();
  let sum = 0;
  for (const token of order) {
    if (kept.size > 0 && sum >= share * total) break;
    kept.add(token);
    sum += weights[token]!;
  }
  for (let i = 0; i < weights.length; i++) if (!kept.has(i)) weights[i] = 0;
}
