/**
 * GSPO response by response, as the paper prints it (Zheng et al. 2025, equations 5 to 7 and, for advantages
 * per token, 13 and 14): probabilities of whole responses, and the |y|-th root of their ratio.
 */
import type { Matrix } from '../../model/credit/matrix.ts';

export interface GspoInput {
  readonly logProbs: Matrix;
  readonly oldLogProbs: Matrix;
  readonly advantages: Matrix;
  readonly mask: Matrix;
  readonly clipLow: number;
  readonly clipHigh: number;
}

/** (π(y) / π_old(y))^(1 / |y|) of each response; the products are of probabilities. */
export function sequenceRatios(input: GspoInput): number[] {
  return input.mask.map((row, i) => {
    let probability = 1;
    let before = 1;
    let length = 0;
    for (const [t, on] of row.entries()) {
      if (on !== 1) continue;
      probability *= Math.exp(input.logProbs[i]![t]!);
      before *= Math.exp(input.oldLogProbs[i]![t]!);
      length += 1;
    }
    return (probability / before) ** (1 / length);
  });
}

/** -(1 / G) Σ_i min(s_i A_i, clip(s_i) A_i); all tokens of response i have the advantage A_i. */
export function gspoLoss(input: GspoInput): number {
  const values = sequenceRatios(input).map((ratio, i) => {
    const advantage = input.advantages[i]![input.mask[i]!.indexOf(1)]!;
    const held = Math.min(Math.max(ratio, 1 - input.clipLow), 1 + input.clipHigh);
    return Math.min(ratio * advantage, held * advantage);
  });
  return -values.reduce((sum, value) => sum + value, 0) / values.length;
}

/**
 * GSPO-token: -(1 / G) Σ_i (1 / |y_i|) Σ_t min(s_it A_it, clip(s_it) A_it) with s_it = sg(s_i) π_it /
 * sg(π_it). The constants are taken from `fixed`, so that differences of this in `logProbs` are its gradient.
 */
export function gspoTokenLoss(input: GspoInput, fixed: GspoInput = input): number {
  const ratios = sequenceRatios(fixed);
  let total = 0;
  for (const [i, row] of input.mask.entries()) {
    let own = 0;
    let length = 0;
    for (const [t, on] of row.entries()) {
      if (on !== 1) continue;
      const moved = Math.exp(input.logProbs[i]![t]!) / Math.exp(fixed.logProbs[i]![t]!);
      const ratio = ratios[i]! * moved;
      const held = Math.min(Math.max(ratio, 1 - input.clipLow), 1 + input.clipHigh);
      const advantage = input.advantages[i]![t]!;
      own += Math.min(ratio * advantage, held * advantage);
      length += 1;
    }
    total += own / length;
  }
  return -total / input.mask.length;
}
