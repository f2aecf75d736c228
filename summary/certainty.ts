/**
 * How certain the numbers of an evaluation are, and what changed from one to another: 95 % intervals. Pure.
 */
import {
  byQuestion,
  callsWhenRight,
  evaluation,
  type Interval,
  type MeanFigure,
  meanFigures,
  meanInterval,
  numberDifference,
  ratioDifference,
  ratioInterval,
  shareDifference,
  shareInterval,
} from '../operators/metrics/index.ts';
import type { Scored } from '../topics/index.ts';

/**
 * Of each figure that is a mean over rollouts: Wilson's or the bootstrap over questions (`shareInterval`). Of
 * the mean over right rollouts: the bootstrap over questions, null if nothing was right.
 */
export type Intervals = Readonly<Record<MeanFigure, Interval>> & {
  readonly meanToolCallsCorrect: Interval | null;
};

/** The change of a figure, with its interval (`shareDifference`, `numberDifference`). */
export interface Difference {
  readonly difference: number;
  readonly interval: Interval;
}

export type Differences = Readonly<Record<MeanFigure, Difference>> & {
  /** Null if nothing was right in one of the two. */
  readonly meanToolCallsCorrect: Difference | null;
};

const shares: ReadonlySet<MeanFigure> = new Set(['accuracy', 'efficiency', 'formatValid']);

type Groups = readonly Scored[];

interface Drawn {
  readonly seed: number;
}

export function intervalsOf(groups: Groups, drawn: Drawn): Intervals {
  const means = each((figure) => {
    const values = [...byQuestion(groups, figure).values()];
    return shares.has(figure) ? shareInterval(values, drawn) : meanInterval(values, drawn);
  });
  const right = [...callsWhenRight(groups).values()];
  return { ...means, meanToolCallsCorrect: ratioInterval(right, drawn) };
}

/** Null if the two did not ask the same questions: then there is nothing to pair. */
export function differencesOf(before: Groups, after: Groups, drawn: Drawn): Differences | null {
  const known = new Set(before.map(({ question }) => question.id));
  const same =
    before.length === after.length && after.every(({ question }) => known.has(question.id));
  if (!same || before.length === 0) return null;
  const means = each((figure) => {
    const pairs = pairsOf(before, after, (groups) => byQuestion(groups, figure));
    const difference = mean(pairs.after) - mean(pairs.before);
    const interval = (shares.has(figure) ? shareDifference : numberDifference)(pairs, drawn);
    return { difference, interval };
  });
  return { ...means, meanToolCallsCorrect: whenRight(before, after, drawn) };
}

function whenRight(before: Groups, after: Groups, drawn: Drawn): Difference | null {
  const interval = ratioDifference(pairsOf(before, after, callsWhenRight), drawn);
  if (interval === null) return null;
  const [from, to] = [before, after].map((groups) => evaluation(groups).meanToolCallsCorrect);
  return { difference: to! - from!, interval };
}

/** What is known about each question before and after, in the same order. */
function pairsOf<T>(
  before: Groups,
  after: Groups,
  of: (groups: Groups) => ReadonlyMap<string, T>,
): { readonly before: readonly T[]; readonly after: readonly T[] } {
  const [first, second] = [of(before), of(after)];
  const ids = [...first.keys()];
  return { before: [...first.values()], after: ids.map((id) => second.get(id)!) };
}

function each<T>(of: (figure: MeanFigure) => T): Readonly<Record<MeanFigure, T>> {
  return Object.fromEntries(meanFigures.map((figure) => [figure, of(figure)])) as Record<
    MeanFigure,
    T
  >;
}

function mean(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}
