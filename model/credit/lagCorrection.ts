/**
 * Importance weights for data that an older policy made: the clipped ratio is taken against the proximal
 * policy (the weights that the step starts from), and the ratio between it and the behaviour policy becomes a
 * factor.
 *
 *     L = w · clipped(π / π_prox, A)    w = π_prox / π_behave, a constant
 *
 * `decoupled`: Hilton et al. (2022) as in AReaL; a token whose weight is above the cap is left out (weight
 * 0). `truncated`: truncated importance sampling as in verl; a weight above the cap becomes the cap. Weights
 * are per token. A token that is left out still counts in the aggregation's denominator, as in AReaL.
 */
import { counted } from '../../base/text/index.ts';
import type { TrainSequence } from '../engine.ts';

/**
 * What happens to a token whose importance weight is above `cap`, 1 or more: `decoupled` leaves it out,
 * `truncated` gives it the weight `cap`. Without a cap every weight counts in full.
 */
export type LagCorrection =
  | { readonly kind: 'decoupled'; readonly cap?: number }
  | { readonly kind: 'truncated'; readonly cap: number };

/** The weight of one token, from its log-probs (nats) under the proximal and the behaviour policy. */
export function lagWeight(
  proximalLogProb: number,
  behaviourLogProb: number,
  correction: LagCorrection,
): number {
  const weight = Math.exp(proximalLogProb - behaviourLogProb);
  const cap = correction.cap ?? Number.POSITIVE_INFINITY;
  // a weight that is not a number passes through, so that the step notices it
  if (!(weight > cap)) return weight;
  return correction.kind === 'decoupled' ? 0 : cap;
}

/**
 * The sequence as it is trained on: old log-probs are the proximal ones, `importance` has the weights (0
 * where the mask is 0). `proximalLogProbs` has one number a token, at its own place, as
 * `EmbeddedTrainer.score` gives them before the step; one score serves all the mini-batches of a batch.
 * Throws if the lengths differ or the cap is below 1, which would discount data that does not lag.
 */
export function lagCorrected(
  sequence: TrainSequence,
  proximalLogProbs: Float32Array,
  correction: LagCorrection,
): TrainSequence {
  const { mask, oldLogProbs } = sequence;
  if (proximalLogProbs.length !== mask.length)
    throw new Error(
      `${counted(proximalLogProbs.length, 'proximal log-prob')} for ${counted(mask.length, 'token')}: score the whole sequence`,
    );
  const { cap } = correction;
  if (cap !== undefined && !(cap >= 1)) throw new Error(`cap is ${cap}; it must be 1 or more`);
  const importance = Float32Array.from(mask, (selected, place) =>
    selected === 1 ? lagWeight(proximalLogProbs[place]!, oldLogProbs[place]!, correction) : 0,
  );
  return { ...sequence, oldLogProbs: proximalLogProbs, importance };
}
