/**
 * Step entropy: how unsure the policy was at the start of a segment (ARPO reference §1.2).
 *
 *     H = Σ over the first 20 tokens, over their returned log-probs l, of -exp(l)·l, over ln |V|
 *
 * A sum over tokens, not a mean, and the returned probabilities are not renormalised: a short segment has a
 * smaller entropy.
 */

/** Tokens of a segment that count. */
export const ENTROPY_TOKENS = 20;

/** Entropy of one segment from the top log-probs of its first tokens; 0 for an empty segment. */
export function stepEntropy(
  topLogProbs: readonly (readonly number[])[],
  vocabSize: number,
): number {
  let sum = 0;
  for (const returned of topLogProbs.slice(0, ENTROPY_TOKENS)) {
    for (const logProb of returned) sum += entropyTerm(logProb);
  }
  return sum / Math.log(vocabSize);
}

/** -p·log p of one returned log-prob; an impossible token (-Infinity) adds nothing. */
export function entropyTerm(logProb: number): number {
  return logProb === Number.NEGATIVE_INFINITY ? 0 : -Math.exp(logProb) * logProb;
}
