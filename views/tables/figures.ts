/** The figures of an evaluation as people read them: what each is called, how it is written, which way is better. */
import { fixed, percent, type Show, signed } from '../numbers.ts';
import type { Evaluation } from '../summary/results.ts';

export interface Figure {
  readonly key: keyof Evaluation;
  readonly label: string;
  readonly show: Show;
  /** A difference between two values; shares differ by percentage points. */
  readonly difference: Show;
  /** The same with its unit. */
  readonly change: Show;
  /** Which way is better. */
  readonly better: 'more' | 'less' | 'neither';
}

const points: Show = (value) => signed(100 * value, fixed(1));

const share = {
  show: (value: number) => percent(value),
  difference: points,
  change: (value: number) => `${points(value)} points`,
} as const;

function number(digits: number) {
  const difference: Show = (value) => signed(value, fixed(digits));
  return { show: fixed(digits), difference, change: difference };
}

export const figures: readonly Figure[] = [
  { key: 'accuracy', label: 'accuracy', ...share, better: 'more' },
  { key: 'meanToolCalls', label: 'tool calls', ...number(2), better: 'less' },
  { key: 'meanToolCallsCorrect', label: 'tool calls when right', ...number(2), better: 'less' },
  { key: 'efficiency', label: 'efficiency', ...share, better: 'more' },
  { key: 'formatValid', label: 'valid format', ...share, better: 'more' },
  { key: 'tokens', label: 'tokens', ...number(0), better: 'less' },
  { key: 'questions', label: 'questions', ...number(0), better: 'neither' },
];

/** Those that training may change. */
export const trainedFigures: readonly Figure[] = figures.filter(
  ({ better }) => better !== 'neither',
);

/** The figure; null where it was not measured: right answers have no tool calls where there are none. */
export function figureOf(
  evaluation: { readonly [K in keyof Evaluation]: number | null } | null,
  { key }: Pick<Figure, 'key'>,
): number | null {
  if (evaluation === null) return null;
  return key === 'meanToolCallsCorrect' && evaluation.accuracy === 0 ? null : evaluation[key];
}

/** The difference of two evaluations in a figure; null where one of them lacks it. */
export function differenceOf(
  before: Evaluation | null,
  after: Evaluation | null,
  figure: Pick<Figure, 'key'>,
): number | null {
  const [from, to] = [figureOf(before, figure), figureOf(after, figure)];
  return from === null || to === null ? null : to - from;
}
