/**
 * Which curves of a run are shown, as data: names as in docs/metrics.md, values of a training step, points of
 * held-out questions.
 */
import type { MeanFigure } from '../operators/metrics/index.ts';
import { isOfEvaluation, metricNames } from './metricNames.ts';
import type { Reading } from './reading.ts';
import type { Results } from './results.ts';

export interface Point {
  /** Step. */
  readonly x: number;
  readonly y: number;
  /** 95 %, if known. */
  readonly low?: number;
  readonly high?: number;
}

export interface Series {
  readonly name: string;
  readonly points: readonly Point[];
  /** Few important points: drawn as dots on their line. */
  readonly dots?: boolean;
  /** It has no noise, so it is never smoothed. */
  readonly exact?: boolean;
}

export interface Curve {
  readonly title: string;
  /** Its name in `metrics`. */
  readonly metric: string;
  /** Learning: what training is for; stability: whether it goes well. */
  readonly about: 'learning' | 'stability';
  readonly series: readonly Series[];
  readonly unit: 'number' | 'share';
  /** The value axis begins at 0. */
  readonly fromZero: boolean;
}

export interface Curves {
  readonly curves: readonly Curve[];
  /** Steps at which a round ends; 0 for the time before training. */
  readonly roundEnds: readonly number[];
  /** The first and the last step of all curves, which share an axis. */
  readonly steps: readonly [number, number];
}

export function curvesOf(reading: Reading, results: Results): Curves {
  const ends = roundEnds(reading, results);
  const training = (name: string, metric: string): Series => ({
    name,
    points: reading.metrics
      .curve(metric)
      .map(({ step, sum, count }) => ({ x: step, y: sum / count })),
  });
  const heldOut = (key: MeanFigure): Series => ({
    name: 'held-out',
    dots: true,
    points: heldOutPoints(results, ends, key),
  });
  const one = (title: string, metric: string, fromZero = false) =>
    ({ title, metric, series: [training(title, metric)], unit: 'number', fromZero }) as const;
  const losses: readonly Omit<Curve, 'about'>[] = [
    one('Loss', metricNames.loss),
    {
      ...one('Held-out loss', metricNames.heldOutLoss),
      series: [{ ...training('Held-out loss', metricNames.heldOutLoss), dots: true }],
    },
  ];
  // If nothing is rewarded, the loss is what training is for.
  const isRewarded = reading.metrics.curve(metricNames.reward).length > 0;
  const learning: readonly Omit<Curve, 'about'>[] = [
    ...(isRewarded ? [] : losses),
    one('Reward', metricNames.reward),
    {
      title: 'Accuracy',
      metric: metricNames.accuracy,
      series: [training('training', metricNames.accuracy), heldOut('accuracy')],
      unit: 'share',
      fromZero: true,
    },
    {
      title: 'Tool calls',
      metric: metricNames.toolCalls,
      series: [training('training', metricNames.toolCalls), heldOut('meanToolCalls')],
      unit: 'number',
      fromZero: true,
    },
    one('Entropy', metricNames.entropy, true),
    one('Policy lag (versions)', metricNames.policyLag, true),
    {
      title: 'Tokens per second',
      metric: metricNames.generated,
      series: [
        training('generated', metricNames.generated),
        training('trained', metricNames.trained),
      ],
      unit: 'number',
      fromZero: true,
    },
  ];
  const stability: readonly Omit<Curve, 'about'>[] = [
    ...(isRewarded ? losses : []),
    {
      ...one('Learning rate', metricNames.learningRate, true),
      series: [{ ...training('Learning rate', metricNames.learningRate), exact: true }],
    },
    one('Gradient norm', metricNames.gradientNorm, true),
    one('Clipped tokens (share)', metricNames.clipped, true),
    one('KL to the sampling policy', metricNames.klBehaviour),
    one('Response length (tokens)', metricNames.responseLength, true),
    {
      ...one('Valid format in training', metricNames.validFormat, true),
      unit: 'share',
    },
    one('Longest block of the event loop (ms)', metricNames.standstill, true),
  ];
  return {
    curves: [
      ...learning.map((curve): Curve => ({ ...curve, about: 'learning' })),
      ...stability.map((curve): Curve => ({ ...curve, about: 'stability' })),
    ],
    roundEnds: [...ends.values()],
    steps: [0, lastStepOf([...learning, ...stability])],
  };
}

function lastStepOf(curves: readonly Pick<Curve, 'series'>[]): number {
  return curves
    .flatMap(({ series }) => series)
    .reduce((last, { points }) => Math.max(last, points.at(-1)?.x ?? 0), 0);
}

/** The last step of each round that trains or is measured, by round. */
function roundEnds({ metrics }: Reading, { rounds }: Results): ReadonlyMap<number, number> {
  const ends = new Map<number, number>([[0, 0]]);
  for (const { name, round, lastStep } of metrics.means) {
    if (!isOfEvaluation(name)) ends.set(round, Math.max(ends.get(round) ?? 0, lastStep));
  }
  for (const { round } of rounds) if (!ends.has(round)) ends.set(round, round);
  return ends;
}

function heldOutPoints(
  { before, rounds }: Results,
  ends: ReadonlyMap<number, number>,
  key: MeanFigure,
): Point[] {
  const values = [
    [0, before?.[key] ?? null, before?.intervals] as const,
    ...rounds.map((r) => [r.round, r[key], r.intervals] as const),
  ];
  return values.flatMap(([round, y, intervals]) =>
    y === null ? [] : [{ x: ends.get(round) ?? round, y, ...intervals?.[key] }],
  );
}
