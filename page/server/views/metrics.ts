/** The data of the curves: series of this run and of those compared with it, over steps, time or tokens. */

import { MillraceError } from '../../../base/index.ts';
import { counted, shellWord } from '../../../base/text/index.ts';
import { metricNames } from '../../../summary/index.ts';
import type { AbsentMetric, MetricsData, Series } from '../../wire/index.ts';
import type { Bucket, BucketSeries } from '../run/bucketSeries.ts';
import { closeUp } from '../run/closeUp.ts';
import { limits } from '../run/limits.ts';
import type { Moment } from '../run/moment.ts';
import type { RunView } from '../run/runView.ts';
import { type Asked, listIn, numberIn } from './asked.ts';

interface Range {
  readonly x: MetricsData['x'];
  readonly from: number;
  readonly to: number;
  /** Most buckets per series. */
  readonly most: number;
}

export const whole: Range = {
  x: 'step',
  from: Number.NEGATIVE_INFINITY,
  to: Number.POSITIVE_INFINITY,
  most: limits.bucketsDefault,
};

/** The metrics of an overview: the six that matter most among those that a run has, in order. */
const curves: readonly string[] = [
  metricNames.reward,
  metricNames.accuracy,
  metricNames.toolCalls,
  metricNames.entropy,
  metricNames.policyLag,
  metricNames.klBehaviour,
  metricNames.loss,
  metricNames.heldOutLoss,
  metricNames.gradientNorm,
  metricNames.responseLength,
];
const CURVES = 6;

export function curveNames({ book }: RunView): string[] {
  const there = curves.filter((name) => book.series(name) !== null);
  const chosen = there.length === 0 ? curves : [...there, ...curves];
  return [...new Set(chosen)].slice(0, CURVES);
}

export function data({ view, moment, query, others }: Asked): Promise<MetricsData> {
  const names = listIn(query, 'm');
  const range = rangeIn(query);
  const runs = listIn(query, 'with');
  if (runs.length > limits.withMax) {
    throw new MillraceError('USAGE', `with= takes at most ${limits.withMax} runs`);
  }
  return others.withAll(runs, (beside, missing) =>
    metricsData(view, moment, { names, range, beside, missing }),
  );
}

function rangeIn(query: URLSearchParams): Range {
  const x = query.get('x') ?? 'step';
  if (x !== 'step' && x !== 'time' && x !== 'tokens') {
    throw new MillraceError('USAGE', 'x= takes step, time or tokens');
  }
  return {
    x,
    from: numberIn(query, 'from') ?? whole.from,
    to: numberIn(query, 'to') ?? whole.to,
    most: numberIn(query, 'n') ?? whole.most,
  };
}

interface MetricsAsked {
  /** Empty = those of the overview. */
  readonly names: readonly string[];
  readonly range: Range;
  readonly beside: readonly RunView[];
  readonly missing: readonly string[];
}

export async function metricsData(
  view: RunView,
  moment: Moment,
  { names, range, beside, missing }: MetricsAsked,
): Promise<MetricsData> {
  const wanted = names.length === 0 ? curveNames(view) : names;
  const found = seriesOf(view, wanted, range, moment);
  const others = beside.flatMap((other) => seriesOf(other, wanted, range).series);
  const series: Series[] = [];
  for (const one of [...found.series, ...others]) {
    const of = [view, ...beside].find(({ viewed }) => viewed.name === one.run)!;
    series.push(
      await closer(of, one, { ...range, to: Math.min(range.to, moment.at?.step ?? range.to) }),
    );
  }
  return {
    ...(await view.frame(moment, tapOf(view, wanted[0]))),
    cursor: view.cursor.text,
    behind: view.behind,
    names: view.book.names,
    x: range.x,
    series,
    absent: found.absent,
    missing,
  };
}

function tapOf({ viewed: { name } }: RunView, metric: string | undefined): string {
  const only = metric === undefined ? '' : ` --where ${shellWord(`name = ${metric}`)}`;
  return `millrace tap ${name}.metrics${only}`;
}

/** Read again from the log if a part is wanted finer than the book has it. */
async function closer(view: RunView, series: Series, range: Range): Promise<Series> {
  if (series.width === 1 || series.shown === series.total) return series;
  const fine = await closeUp(view, series.name, range);
  if (fine === null) return series;
  const { total, odd, oddSteps } = series;
  return { ...seriesFrom(fine, series, range), total, odd, oddSteps };
}

/** Fails with code `USAGE` when too many are named. */
export function seriesOf(
  view: RunView,
  names: readonly string[],
  range: Range,
  { at }: Pick<Moment, 'at'> = { at: null },
): { readonly series: readonly Series[]; readonly absent: readonly AbsentMetric[] } {
  if (names.length > limits.metricsMax) {
    throw new MillraceError('USAGE', `m= takes at most ${limits.metricsMax} metrics`);
  }
  const last = at === null ? range.to : Math.min(range.to, at.step);
  const series: Series[] = [];
  const absent: AbsentMetric[] = [];
  for (const name of names) {
    const known = view.book.series(name);
    if (known === null) {
      absent.push({ name, why: whyAbsent(view, name) });
      continue;
    }
    const found = seriesFrom(known, { run: view.viewed.name, name }, { ...range, to: last });
    if (at !== null && found.x.length === 0) {
      absent.push({ name, why: `no value up to step ${at.step}` });
    } else series.push(found);
  }
  return { series, absent };
}

function seriesFrom(
  known: BucketSeries,
  names: Pick<Series, 'run' | 'name'>,
  { x, from, to, most }: Range,
): Series {
  const { buckets, width } = known.between(from, to, Math.min(most, limits.bucketsMax));
  const of = { step: 'lastStep', time: 'atMs', tokens: 'tokens' } as const;
  const column = (take: (bucket: Bucket) => number): number[] => buckets.map(take);
  return {
    ...names,
    width,
    x: column((bucket) => bucket[of[x]]),
    step: column(({ step }) => step),
    mean: column(({ sum, count }) => sum / count),
    min: column(({ min }) => min),
    max: column(({ max }) => max),
    count: column(({ count }) => count),
    shown: buckets.reduce((sum, { count }) => sum + count, 0),
    total: known.count,
    odd: known.odd,
    oddSteps: known.oddSteps,
  };
}

function whyAbsent({ book, timeline, behind }: RunView, name: string): string {
  if (book.names.some((known) => known.name === name)) {
    return `this run has more than ${counted(limits.seriesMax, 'metric')}; \`millrace tap\` reads this one`;
  }
  if (behind > 0) return 'the metrics of this run are still being read';
  const steps = timeline.newest?.step ?? 0;
  if (steps === 0) return 'no step has been made yet; the first step writes it';
  return OF_ROLLOUTS.test(name)
    ? `only steps on rollouts write it, and none of the ${counted(steps, 'step')} so far was one: fine-tuning learns from texts`
    : `no metric with that name was written up to step ${steps}`;
}

/** Numbers of rollouts and their rewards. */
const OF_ROLLOUTS = /^(reward|accuracy|format|groups|rollouts|tools|len|policy|logprob|kl|clip)\//;
