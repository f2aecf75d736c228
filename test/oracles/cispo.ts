/**
 * CISPO token by token, as MiniMax-M1 prints it (equations 4 and 5): the weight in front of a token's
 * log-prob is a constant, so `loss` is differentiated with the weights of `at` while the log-probs move.
 */
import type { Matrix } from '../../model/credit/matrix.ts';

export interface CispoInput {
  readonly logProbs: Matrix;
  readonly oldLogProbs: Matrix;
  readonly advantages: Matrix;
  readonly mask: Matrix;
  readonly clipLow: number;
  readonly clipHigh: number;
}

/** -(1 / tokens of the batch) Σ_i Σ_t sg(r_it) A_it log π_it, with r taken where the log-probs are `at`. */
export function cispoLoss(input: CispoInput, at: Matrix = input.logProbs): number {
  let objective = 0;
  let tokens = 0;
  for (let i = 0; i < input.mask.length; i++) {
    for (let t = 0; t < input.mask[i]!.length; t++) {
      if (input.mask[i]![t] !== 1) continue;
      const probability = Math.exp(at[i]![t]!);
      const before = Math.exp(input.oldLogProbs[i]![t]!);
      let weight = probability / before;
      if (weight < 1 - input.clipLow) weight = 1 - input.clipLow;
      if (weight > 1 + input.clipHigh) weight = 1 + input.clipHigh;
      objective += weight * input.advantages[i]![t]! * input.logProbs[i]![t]!;
      tokens += 1;
    }
  }
  return -objective / tokens;
}

/** Share of the tokens whose weight is held. */
export function cispoHeld({ logProbs, oldLogProbs, mask, clipLow, clipHigh }: CispoInput): number {
  const ratios = mask.flatMap((row, i) =>
    row.flatMap((on, t) =>
      on === 1 ? [Math.exp(logProbs[i]![t]!) / Math.exp(oldLogProbs[i]![t]!)] : [],
    ),
  );
  return ratios.filter((r) => r > 1 + clipHigh || r < 1 - clipLow).length / ratios.length;
}
