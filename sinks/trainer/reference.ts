/**
 * The reference policy: a frozen version that a loss compares with. Which one follows from the batch, so it is the same
 * after a crash: preferences are compared with the version that their round began with (the policy that wrote the
 * responses), the KL penalty with the first policy of the run.
 */
import type { Scorer } from '../../model/engine.ts';
import { beginOfStage } from '../../operators/schedule.ts';
import type { Batch } from '../../streams/records.ts';
import type { LessonSteps } from './lesson.ts';
import type { Losses } from './losses.ts';

/** The version to compare with; null when the loss of this batch asks for none. */
export function referenceVersion(batch: Batch, losses: Losses): number | null {
  if (batch.kind === 'dpo') return beginOfStage(batch);
  return batch.kind === 'policy' && losses.policy?.kl !== undefined ? 0 : null;
}

/** The sequences with `refLogProbs`, by what the scorer holds. */
export async function withReference(steps: LessonSteps, scorer: Scorer): Promise<LessonSteps> {
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
