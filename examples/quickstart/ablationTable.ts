/** The variants of the ablation, and the table that is made of their evaluations. */

export interface Variant {
  readonly name: string;
  readonly about: string;
  /** What differs from the quickstart. */
  readonly settings: readonly string[];
}

export const variants: readonly Variant[] = [
  { name: 'whole', about: 'flywheel, fine-tuning, calibration', settings: [] },
  {
    name: 'no-flywheel',
    about: 'fine-tuned on the first trajectories that were right, nothing evolved',
    settings: ['flywheel.rounds=0'],
  },
  {
    name: 'no-tuning',
    about: 'calibration from the base policy',
    settings: ['flywheel.questions=0'],
  },
  {
    name: 'no-pareto',
    about: 'a round practises any of its candidates',
    settings: ['sampler=random'],
  },
  { name: 'no-reward', about: 'accuracy and format alone are rewarded', settings: ['sigmas=[0]'] },
  {
    name: 'no-decrease',
    about: 'the efficiency reward is as strong in every round',
    settings: ['sigmas=[0.6]'],
  },
];

/** Held-out questions under one policy. */
export interface Evaluation {
  readonly accuracy: number;
  readonly efficiency: number;
  /** Tool calls of rollouts that were right. */
  readonly calls: number;
}

/** A finished run of a variant: its evaluations, stage by stage; stage 0 is the base policy. */
export interface Outcome {
  readonly name: string;
  readonly seed: number;
  readonly evaluations: readonly Evaluation[];
}

export interface Row extends Evaluation {
  readonly what: string;
  /** Runs that the numbers are the mean of. */
  readonly runs: number;
}

/** Where each row comes from: a variant, and which of its evaluations. */
const ROWS: readonly { readonly what: string; readonly of: string; readonly at: number }[] = [
  { what: 'base', of: 'whole', at: 0 },
  { what: '+ fine-tuning', of: 'whole', at: 1 },
  { what: '+ fine-tuning, without flywheel', of: 'no-flywheel', at: 1 },
  { what: '+ calibration (the whole method)', of: 'whole', at: -1 },
  { what: 'without flywheel', of: 'no-flywheel', at: -1 },
  { what: 'without fine-tuning', of: 'no-tuning', at: -1 },
  { what: 'without Pareto sampling', of: 'no-pareto', at: -1 },
  { what: 'without efficiency reward', of: 'no-reward', at: -1 },
  { what: 'without its decrease', of: 'no-decrease', at: -1 },
];

/** Means over the seeds; a row without any run is left out. */
export function ablationTable(outcomes: readonly Outcome[]): Row[] {
  return ROWS.flatMap(({ what, of, at }) => {
    const found = outcomes
      .filter(({ name }) => name === of)
      .flatMap(({ evaluations }) => evaluations.at(at) ?? []);
    if (found.length === 0) return [];
    const mean = (key: keyof Evaluation): number =>
      found.reduce((sum, evaluation) => sum + evaluation[key], 0) / found.length;
    const [accuracy, efficiency, calls] = [mean('accuracy'), mean('efficiency'), mean('calls')];
    return [{ what, accuracy, efficiency, calls, runs: found.length }];
  });
}
