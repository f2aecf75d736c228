/**
 * The reference policy: a frozen version that a loss compares with. Which one follows from the batch, so it
 * is the same after a crash: preferences are compared with the version that their round began with (the
 * policy that wrote the responses), everything else with the first policy of the run.
 */
import type { Scorer } from '../../model/index.ts';
import { type Batch, beginOfRound } from '../../topics/index.ts';
import type { BatchSteps } from './prepared.ts';

/** The version that a loss compares with, if it needs one. */
export function referenceVersion(batch: Batch): number {
  return batch.kind === 'dpo' ? beginOfRound(batch) : 0;
}

/** The sequences with `refLogProbs`, by what the scorer holds. */
export async function withReference(steps: BatchSteps, scorer: Scorer): Promise<BatchSteps> {
  const all = steps.flat();
  if (all.length === 0) return steps;
  const scores = await scorer.score(all.map(({ sequence }) => sequence.tokens));
  const refLogProbs = new Map(all.map((item, i) => [item, scores[i]!.logProbs]));
  return steps.map((step) =>
    step.map((item) => ({
      ...item,
      sequence: { ...item.sequence, refLogProbs: refLogProbs.get(item)! },
    })),
  );
}
