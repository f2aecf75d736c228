/** The variants of the ablation, and the table of their evaluations. */
import { type Estimate, estimate } from './estimate.ts';

export interface Variant {
  readonly name: string;
  readonly about: string;
  /** How it differs from the quickstart. */
  readonly settings: readonly string[];
}

export const variants: readonly Variant[] = [
  { name: 'whole', about: 'flywheel, fine-tuning, calibration', settings: [] },
  {
    name: 'no-flywheel',
    about: 'fine-tuned on right first trajectories, none evolved',
    settings: ['flywheel.rounds=0'],
  },
  {
    name: 'no-tuning',
    about: 'calibration from the base policy',
    settings: ['flywheel.questions=0'],
  },
  {
    name: 'no-pareto',
    about: 'a round practises random candidates',
    settings: ['sampler=random'],
  },
  { name: 'no-reward', about: 'only accuracy and format are rewarded', settings: ['sigmas=[0]'] },
  {
    name: 'no-decrease',
    about: 'the efficiency reward is equally strong in every round',
    settings: ['sigmas=[0.6]'],
  },
];

/** Held-out questions under one policy. */
export interface Evaluation {
  readonly accuracy: number;
  readonly efficiency: number;
  /** Tool calls of the right rollouts. */
  readonly calls: number;
}

/** A finished run of a variant: its evaluations, round by round; round 0 is the base policy. */
export interface Outcome {
  readonly name: string;
  readonly seed: number;
  readonly evaluations: readonly Evaluation[];
}

/** A row of the table: means over the seeds. */
export interface Row {
  readonly what: string;
  readonly accuracy: Estimate;
  readonly efficiency: Estimate;
  readonly calls: Estimate;
  /**
   * Accuracy minus that of the whole method in the same worlds, seed by seed, so that variation the worlds
   * share stays out of its interval. Null for the whole method, and if no seed has both.
   */
  readonly difference: Estimate | null;
  /** Seeds behind the means. */
  readonly seeds: readonly number[];
}

/** Where each row comes from: a variant, and one of its evaluations. */
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

const WHOLE = ROWS.find(({ of, at }) => of === 'whole' && at === -1)!;

/** Means over the seeds that have run; a row without any run is left out. */
export function ablationTable(outcomes: readonly Outcome[]): Row[] {
  const bySeed = ({ of, at }: Pick<(typeof ROWS)[number], 'of' | 'at'>) =>
    new Map(
      outcomes.flatMap(({ name, seed, evaluations }) => {
        const found = name === of ? evaluations.at(at) : undefined;
        return found === undefined ? [] : [[seed, found] as const];
      }),
    );
  const whole = bySeed(WHOLE);
  return ROWS.flatMap((row) => {
    const found = bySeed(row);
    if (found.size === 0) return [];
    const of = (key: keyof Evaluation) => estimate([...found.values()].map((one) => one[key]));
    const differences = [...found].flatMap(([seed, { accuracy }]) => {
      const other = whole.get(seed);
      return other === undefined ? [] : [accuracy - other.accuracy];
    });
    return [
      {
        what: row.what,
        accuracy: of('accuracy'),
        efficiency: of('efficiency'),
        calls: of('calls'),
        difference: row === WHOLE || differences.length === 0 ? null : estimate(differences),
        seeds: [...found.keys()],
      },
    ];
  });
}
