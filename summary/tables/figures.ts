/**
 * The figures of an evaluation for people: their names, formats, and which way is better.
 */
import type { Interval } from '../../operators/metrics/index.ts';
import type { Difference, Differences, Intervals } from '../certainty.ts';
import { fixed, NOTHING, percent, type Show, signed } from '../format/numbers.ts';
import type { Evaluation } from '../results.ts';

export interface Figure {
  readonly key: keyof Evaluation;
  /** Its name in `metrics`. */
  readonly metric: string;
  readonly label: string;
  /** For narrow tables. */
  readonly short: string;
  readonly show: Show;
  /** An end of an interval: fewer digits. */
  readonly end: Show;
  /** A difference between two values; shares differ by percentage points. */
  readonly difference: Show;
  /** The same with its unit. */
  readonly change: Show;
  /** An end of the interval of a difference. */
  readonly changeEnd: Show;
  /** Which way is better. */
  readonly better: 'more' | 'less';
  /** Its meaning in a few words; empty if the label suffices. */
  readonly about: string;
}

const points =
  (digits: number): Show =>
  (value) =>
    signed(100 * value, fixed(digits));

const share = {
  show: (value: number) => percent(value),
  end: (value: number) => (100 * value).toFixed(0),
  difference: points(1),
  change: (value: number) => `${points(1)(value)} points`,
  changeEnd: points(0),
  better: 'more',
} as const;

function count(digits: number) {
  const difference: Show = (value) => signed(value, fixed(digits));
  const changeEnd: Show = (value) => signed(value, fixed(Math.max(0, digits - 1)));
  return {
    show: fixed(digits),
    end: fixed(Math.max(0, digits - 1)),
    difference,
    change: difference,
    changeEnd,
    better: 'less',
  } as const;
}

/** Those that training may change. */
export const figures: readonly Figure[] = [
  {
    key: 'accuracy',
    metric: 'eval/accuracy',
    label: 'accuracy',
    short: 'accuracy',
    ...share,
    about: '',
  },
  {
    key: 'meanToolCalls',
    metric: 'eval/tools_mean',
    label: 'tool calls',
    short: 'calls',
    ...count(2),
    about: 'per response',
  },
  {
    key: 'meanToolCallsCorrect',
    metric: 'eval/tools_mean_correct',
    label: 'calls when right',
    short: 'when right',
    ...count(2),
    about: 'right responses only',
  },
  {
    key: 'efficiency',
    metric: 'eval/efficiency',
    label: 'efficiency',
    short: 'efficiency',
    ...share,
    about: 'right answers per tool call; without a call, 1 if right',
  },
  {
    key: 'formatValid',
    metric: 'eval/format_valid',
    label: 'valid format',
    short: 'valid',
    ...share,
    about: 'responses in the required format: thoughts and calls in pairs, one boxed answer',
  },
  {
    key: 'tokens',
    metric: 'eval/len_response',
    label: 'tokens',
    short: 'tokens',
    ...count(0),
    about: 'per response, tool results included',
  },
];

/** The figure; null if it was not measured: without right answers, their tool calls are unknown. */
export function figureOf(
  evaluation: { readonly [K in keyof Evaluation]: number | null } | null,
  { key }: Pick<Figure, 'key'>,
): number | null {
  if (evaluation === null) return null;
  return key === 'meanToolCallsCorrect' && evaluation.accuracy === 0 ? null : evaluation[key];
}

/** The difference of two evaluations in a figure; null if one of them lacks it. */
export function differenceOf(
  before: Evaluation | null,
  after: Evaluation | null,
  figure: Pick<Figure, 'key'>,
): number | null {
  const [from, to] = [figureOf(before, figure), figureOf(after, figure)];
  return from === null || to === null ? null : to - from;
}

/** The 95 % interval of a figure; null if there is none. */
export function intervalOf(
  intervals: Intervals | null | undefined,
  { key }: Pick<Figure, 'key'>,
): Interval | null {
  return intervals?.[key as keyof Intervals] ?? null;
}

/** `46–60`; empty if it has no width: one question, or all alike, say nothing about others. */
export function intervalText(interval: Interval | null, { end }: Pick<Figure, 'end'>): string {
  if (interval === null || interval.low === interval.high) return '';
  return `${end(interval.low)}–${end(interval.high)}`;
}

/** The change of a figure with its interval; null if it has none. */
export function changeOf(
  changes: Differences | null,
  { key }: Pick<Figure, 'key'>,
): Difference | null {
  return changes?.[key as keyof Differences] ?? null;
}

/** `+29 to +43` */
export function changeIntervalText(
  change: Difference | null,
  { changeEnd }: Pick<Figure, 'changeEnd'>,
): string {
  if (change === null || change.interval.low === change.interval.high) return '';
  return `${changeEnd(change.interval.low)} to ${changeEnd(change.interval.high)}`;
}

/** Whether a change is for the better or for the worse, or may be chance: its interval holds 0. */
export function directionOf(
  change: Difference | null,
  { better }: Pick<Figure, 'better'>,
): 'good' | 'bad' | 'unsure' {
  if (change === null) return 'unsure';
  const { low, high } = change.interval;
  if (low === high) return 'unsure';
  if (low <= 0 && high >= 0) return 'unsure';
  return low > 0 === (better === 'more') ? 'good' : 'bad';
}

/** A figure, or a dash. */
export function shownFigure(value: number | null, { show }: Pick<Figure, 'show'>): string {
  return value === null ? NOTHING : show(value);
}
