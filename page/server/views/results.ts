/** The data of a run's results: the content of the report, as of its last complete evaluation. */
import { type Achieved, metricNames } from '../../../summary/index.ts';
import {
  beforeAfterTable,
  changeIntervalText,
  changeOf,
  directionOf,
  figures,
  phaseLines,
  roundsNote,
  roundsTable,
  trainingTable,
} from '../../../summary/tables/index.ts';
import { askedOf, trainedOf } from '../../../summary/text/index.ts';
import type { Headline, ResultCurve, ResultsData, Shot } from '../../wire/index.ts';
import { limits } from '../run/limits.ts';
import { now } from '../run/moment.ts';
import { refOf } from '../run/refs.ts';
import { cutText, finite } from '../run/shown.ts';
import type { Asked } from './asked.ts';

/** The first curves of a report, among those that have values. */
const CURVES = 4;
const TEXT_MAX = 6_000;

export async function data({ view }: Asked): Promise<ResultsData> {
  const { facts } = await view.look();
  const { results, curves, samples } = await view.achievement.get(facts);
  return {
    ...(await view.frame(now, `millrace report ${view.viewed.name}`)),
    headline: headlineOf(results),
    warnings: results.warnings.map(view.viewed.typed),
    tables: tablesOf(results),
    about: aboutLabels,
    curves: curves.curves
      .filter(({ about, series }) => about === 'learning' && series.some(hasPoints))
      .slice(0, CURVES)
      .map(({ title, metric, series }) => ({
        title,
        metric,
        lines: series.filter(hasPoints).map(lineOf),
      }))
      // Metrics that were also measured on held-out questions come first.
      .sort((a, b) => b.lines.length - a.lines.length),
    roundEnds: curves.roundEnds,
    examples: samples.map(({ why, question, before, after }) => ({
      why,
      question: question.id,
      text: cutText(question.question, limits.textInRow),
      answers: question.answers.slice(0, 5).map((answer) => answer.slice(0, limits.textInRow)),
      before: shotOf(before),
      after: shotOf(after),
    })),
  };
}

type Results = Achieved['results'];

function headlineOf(results: Results): Headline | null {
  const { before, after, change } = results;
  const shown = after ?? before;
  const accuracy = figures.find(({ key }) => key === 'accuracy')!;
  if (shown === null) return null;
  const of = (one: typeof shown) => ({
    accuracy: one.accuracy,
    interval: one.intervals.accuracy,
  });
  const known = changeOf(change, accuracy);
  const ends = changeIntervalText(known, accuracy);
  return {
    ...of(shown),
    before: after === null || before === null ? null : of(before),
    change:
      known === null
        ? ''
        : `${accuracy.change(known.difference)}${ends === '' ? '' : ` (${ends})`}`,
    direction: directionOf(known, accuracy),
    asked: askedOf(results),
  };
}

/** The metric behind each label: of the figures in their long and short form, and of training. */
const aboutLabels: Readonly<Record<string, string>> = {
  ...Object.fromEntries(
    figures.flatMap(({ label, short, metric }) => [
      [label, metric],
      [short, metric],
    ]),
  ),
  reward: metricNames.reward,
  loss: metricNames.loss,
  'held-out loss': metricNames.heldOutLoss,
  'learning rate': metricNames.learningRate,
};

const chance = '95 %: intervals over questions; a change whose interval holds 0 may be chance';

function tablesOf(results: Results): ResultsData['tables'] {
  const rounds =
    results.rounds.length === 0 || results.before === null ? null : roundsTable(results);
  const tables = [
    ['Round by round', rounds, [roundsNote, ...phaseLines(results)]],
    ['Before and after', beforeAfterTable(results), [chance]],
    ['Training', trainingTable(results), trainedOf(results)],
  ] as const;
  return tables.flatMap(([title, table, notes]) =>
    table === null ? [] : [{ title, table, notes }],
  );
}

type Series = Achieved['curves']['curves'][number]['series'][number];

function hasPoints({ points }: Series): boolean {
  return points.length > 0;
}

function lineOf({ name, points }: Series): ResultCurve['lines'][number] {
  const column = (take: (point: Series['points'][number]) => number): number[] => points.map(take);
  const hasEnds = points.every(({ low, high }) => low !== undefined && high !== undefined);
  return {
    name,
    xs: column(({ x }) => x),
    ys: column(({ y }) => y),
    ...(hasEnds
      ? { low: column(({ low, y }) => low ?? y), high: column(({ high, y }) => high ?? y) }
      : {}),
  };
}

function shotOf(sample: Achieved['samples'][number]['before']): Shot {
  const { rollout, correct, toolCalls, score, version, finish, text } = sample;
  return {
    ref: refOf(rollout),
    correct,
    toolCalls,
    reward: finite(score),
    version,
    finish,
    text: cutText(text, TEXT_MAX),
  };
}
