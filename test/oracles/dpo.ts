/**
 * Direct preference optimisation (Tool-Star §4.4): value and gradients of the sigmoid loss over pairs, and
 * the log-probs of labelled sequences that it is computed from.
 *
 *     loss = -log σ(β · [(log π(w) - log π_ref(w)) - (log π(l) - log π_ref(l))]), mean over the pairs
 */

export interface PreferencePairs {
  /** Summed log-probs of the chosen and the rejected responses, one number a pair. */
  readonly policyChosen: readonly number[];
  readonly policyRejected: readonly number[];
  readonly refChosen: readonly number[];
  readonly refRejected: readonly number[];
  readonly beta: number;
}

export interface PreferenceLoss {
  readonly loss: number;
  /** d loss / d policyChosen and d policyRejected. */
  readonly gradients: {
    readonly policyChosen: number[];
    readonly policyRejected: number[];
  };
}

export function dpoLoss(pairs: PreferencePairs): PreferenceLoss {
  const count = pairs.policyChosen.length;
  const margins = pairs.policyChosen.map(
    (chosen, i) =>
      pairs.beta *
      (chosen - pairs.refChosen[i]! - (pairs.policyRejected[i]! - pairs.refRejected[i]!)),
  );
  const slopes = margins.map((margin) => (-pairs.beta * sigmoid(-margin)) / count);
  return {
    loss: margins.reduce((sum, margin) => sum + softplus(-margin), 0) / count,
    gradients: { policyChosen: slopes, policyRejected: slopes.map((slope) => -slope) },
  };
}

/** A token that is not learned. */
export const IGNORED_LABEL = -100;

/**
 * Summed log-prob and number of the labelled tokens of one sequence: `logits[t]` predicts `labels[t + 1]`,
 * labels of -100 do not count.
 */
export function labelledLogProb(
  logits: readonly (readonly number[])[],
  labels: readonly number[],
): { readonly logProb: number; readonly count: number } {
  let logProb = 0;
  let count = 0;
  for (let t = 1; t < labels.length; t++) {
    const label = labels[t]!;
    if (label === IGNORED_LABEL) continue;
    const row = logits[t - 1]!;
    logProb += row[label]! - logSumExp(row);
    count++;
  }
  return { logProb, count };
}

function logSumExp(values: readonly number[]): number {
  const most = values.reduce((max, value) => Math.max(max, value), Number.NEGATIVE_INFINITY);
  return most + Math.log(values.reduce((sum, value) => sum + Math.exp(value - most), 0));
}

/** log(1 + e^x) without overflow. */
function softplus(x: number): number {
  return Math.max(x, 0) + Math.log1p(Math.exp(-Math.abs(x)));
}

function sigmoid(x: number): number {
  return x >= 0 ? 1 / (1 + Math.exp(-x)) : Math.exp(x) / (1 + Math.exp(x));
}
