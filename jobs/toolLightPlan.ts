/** The plan of the toolLight job: direct inference and the pre-aligned stage, then the loops of self-evolution. */
import { planStages, type Rows, type StagedPlan } from './plan.ts';
import type { ToolLightSettings } from './toolLightSettings.ts';

export interface ToolLightPlan extends StagedPlan {
  /** Questions that direct inference tries. */
  readonly questions: number;
}

/** The plan of Tool-Light. Throws as `planStages` does. */
export async function planToolLight(
  rows: Rows,
  settings: ToolLightSettings,
  seed: number,
): Promise<ToolLightPlan> {
  const { loops, heldOut } = settings;
  const questions = (train: number): number => Math.min(settings.candidates, train);
  const staged = await planStages(
    rows,
    (train) => [
      { name: 'pre-aligned', phase: 'evolve', count: questions(train), skip: 0 },
      ...Array.from({ length: loops }, (_, loop) => ({
        ...{ name: `self-evolved ${loop + 1}`, phase: null, count: 0, skip: 0 },
      })),
    ],
    { heldOut, seed },
  );
  return { ...staged, questions: questions(staged.train) };
}
