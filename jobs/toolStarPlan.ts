/** The plan of the toolStar job: the cold start, then rounds of RL and self-critic in turn. */
import { planStages, type Rows, type StagedPlan, type StagePlan } from './plan.ts';
import type { ToolStarSettings } from './toolStarSettings.ts';

export interface ToolStarPlan extends StagedPlan {
  /** Questions of the cold start. */
  readonly coldStart: number;
  /** Questions of each self-critic; 0 = there is none. */
  readonly critic: number;
  /** The stages of RL. */
  readonly rounds: readonly number[];
}

/** Throws as `planStages` does. */
export async function planToolStar(
  rows: Rows,
  settings: ToolStarSettings,
  seed: number,
): Promise<ToolStarPlan> {
  const { loops, heldOut, criticQuestions, coldStart } = settings;
  const most = (questions: number, train: number): number => Math.min(questions, train);
  const layout = (train: number): readonly StagePlan[] => [
    { name: 'cold start', phase: 'evolve', count: most(coldStart.questions, train), skip: 0 },
    ...Array.from({ length: loops }, (_, loop) => round(loop, most(criticQuestions, train))).flat(),
  ];
  const staged = await planStages(rows, layout, { heldOut, seed });
  return {
    ...staged,
    coldStart: most(coldStart.questions, staged.train),
    critic: most(criticQuestions, staged.train),
    rounds: staged.stages.flatMap((name, stage) => (name.startsWith(ROUND) ? [stage] : [])),
  };
}

const ROUND = 'RL';

/** RL takes no questions of the plan: the curriculum asks them. */
function round(loop: number, critic: number): StagePlan[] {
  const number = loop + 1;
  return [
    { name: `${ROUND} ${number}`, phase: null, count: 0, skip: 0 },
    ...(critic === 0
      ? []
      : [
          {
            ...{ name: `self-critic ${number}`, phase: 'prefer' as const },
            ...{ count: critic, skip: loop * critic },
          },
        ]),
  ];
}
