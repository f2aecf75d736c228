/**
 * Corrects for tokens of an older policy (model/credit/lagCorrection.ts) before the steps of a batch: its
 * tokens are scored once under the weights that the batch starts from, and all mini-batches use that as their
 * proximal policy.
 */

import { type LagCorrection, lagCorrected } from '../../model/credit/index.ts';
import type { Scorer, TrainSequence } from '../../model/index.ts';
import { type BatchSteps, mean } from './prepared.ts';

export interface Corrected {
  readonly steps: readonly (readonly TrainSequence[])[];
  /** How strong the correction is; empty if nothing lags. */
  readonly numbers: Readonly<Record<string, number>>;
}

/**
 * `correction: null` leaves sequences as they are. `scorer` must hold the weights that the batch starts from.
 */
export async function corrected(
  steps: BatchSteps,
  correction: LagCorrection | null,
  scorer: Scorer,
): Promise<Corrected> {
  const lagging = steps.flat().filter(({ lags }) => lags);
  if (correction === null || lagging.length === 0) {
    return { steps: steps.map((step) => step.map(({ sequence }) => sequence)), numbers: {} };
  }
  const scores = await scorer.score(lagging.map(({ sequence }) => sequence.tokens));
  const byItem = new Map(
    lagging.map((item, i) => [item, lagCorrected(item.sequence, scores[i]!.logProbs, correction)]),
  );
  return {
    steps: steps.map((step) => step.map((item) => byItem.get(item) ?? item.sequence)),
    numbers: weightNumbers([...byItem.values()]),
  };
}

function weightNumbers(sequences: readonly TrainSequence[]): Record<string, number> {
  const weights = sequences.flatMap(({ mask, importance }) =>
    [...importance!].filter((_, place) => mask[place] === 1),
  );
  return {
    'lag/weight_mean': mean(weights),
    'lag/left_out': mean(weights.map((weight) => (weight === 0 ? 1 : 0))),
  };
}
