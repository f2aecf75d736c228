/** How sure the numbers of an evaluation are, and what changed from one to another: 95 % intervals. Pure. */
import {
  numberDifference,
  type Pairs,
  shareDifference,
} from '../../operators/metrics/difference.ts';
import { byQuestion, type MeanFigure, meanFigures } from '../../operators/metrics/evaluation.ts';
import { type Interval, meanInterval, shareInterval } from '../../operators/metrics/interval.ts';
import type { Scored } from '../../streams/records.ts';

/** Of each figure that is a mean over rollouts: Wilson's or the bootstrap over questions (`shareInterval`). */
export type Intervals = Readonly<Record<MeanFigure, Interval>>;

/** What a figure changed by, and between which ends that lies (`shareDifference`, `numberDifference`). */
export interface Difference {
  readonly difference: number;
  readonly interval: Interval;
}

export type Differences = Readonly<Record<MeanFigure, Difference>>;

const shares: ReadonlySet<MeanFigure> = new Set(['accuracy', 'efficiency', 'formatValid']);

type Groups = readonly Scored[];

interface Drawn {
  readonly seed: number;
}

export function intervalsOf(groups: Groups, drawn: Drawn): Intervals {
  return each((figure) => {
    const values = [...byQuestion(groups, figure).values()];
    return shares.has(figure) ? shareInterval(values, drawn) : meanInterval(values, drawn);
  });
}

/** Null where the two did not ask the same questions: then there is nothing to pair. */
export function differencesOf(before: Groups, after: Groups, drawn: Drawn): Differences | null {
  const known = new Set(before.map(({ question }) => question.id));
  const same =
    before.length === after.length && after.every(({ question }) => known.has(question.id));
  if (!same || before.length === 0) return null;
  return each((figure) => {
    const pairs = pairsOf(before, after, figure);
    const difference = mean(pairs.after) - mean(pairs.before);
    const interval = (shares.has(figure) ? shareDifference : numberDifference)(pairs, drawn);
    return { difference, interval };
  });
}

function pairsOf(before: Groups, after: Groups, figure: MeanFigure): Pairs {
  const [first, second] = [byQuestion(before, figure), byQuestion(after, figure)];
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
