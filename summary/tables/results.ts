/** The tables of a run's results: before and after, round by round, the outcome of training. */

import { columns, type Table } from '../../base/terminal/index.ts';
import { counted } from '../../base/text/index.ts';
import { duration, fixed, orDash, type Show, significant } from '../format/numbers.ts';
import { type Results, ROUNDS_SHOWN, type Round } from '../results.ts';
import type { Course } from '../training.ts';
import {
  changeIntervalText,
  changeOf,
  differenceOf,
  type Figure,
  figureOf,
  figures,
  intervalOf,
  intervalText,
  shownFigure,
} from './figures.ts';

/** A row for each figure; null before the first evaluation. */
export function beforeAfterTable({ before, after, change }: Results): Table | null {
  if (before === null) return null;
  const value = (of: typeof before | null, figure: Figure): string[] => [
    shownFigure(figureOf(of, figure), figure),
    intervalText(intervalOf(of?.intervals, figure), figure),
  ];
  return {
    columns: columns(['', 'before', '95 %', 'after', '95 %', 'change', '95 %']),
    rows: figures.map((figure) => {
      const difference = differenceOf(before, after, figure);
      return [
        figure.label,
        ...value(before, figure),
        ...value(after, figure),
        difference === null ? '' : figure.change(difference),
        changeIntervalText(changeOf(change, figure), figure),
      ];
    }),
  };
}

/** The change of accuracy since the previous row, besides the figures themselves. */
const CHANGE = 'change';

/** Figures that the table of rounds shows. */
const ofRounds = figures.filter(({ key }) => key !== 'meanToolCallsCorrect');

/** One row for each of the newest rounds, preceded by the state before training. */
export function roundsTable(results: Results): Table {
  const labels = ofRounds.flatMap(({ key, short }) =>
    key === 'accuracy' ? [short, CHANGE] : [short],
  );
  const drops = { efficiency: 4, tokens: 3, reward: 2, time: 1 };
  const row = (measured: Parameters<typeof figureOf>[0], changed: string): string[] =>
    ofRounds.flatMap((figure) => {
      const cell = shownFigure(figureOf(measured, figure), figure);
      return figure.key === 'accuracy' ? [cell, changed] : [cell];
    });
  const shown = results.rounds.slice(-ROUNDS_SHOWN);
  const older = results.rounds.length - shown.length;
  return {
    columns: columns(['round', 'steps', 'reward', ...labels, 'time'], 1, drops),
    rows: [
      ['before', '', '', ...row(results.before, ''), ''],
      ...(older === 0 ? [] : [[`… ${counted(older, 'round')}`]]),
      ...shown.map((round) => [
        round.name,
        String(round.steps),
        orDash(round.reward, fixed(3)),
        ...row(round, accuracyChange(round)),
        orDash(round.seconds, duration),
      ]),
    ],
  };
}

function accuracyChange({ change }: Round): string {
  const [accuracy] = figures as readonly [Figure, ...Figure[]];
  const known = changeOf(change, accuracy);
  return known === null ? '' : accuracy.difference(known.difference);
}

/** What the columns of `roundsTable` mean, unless the labels suffice. */
export const roundsNote =
  'change: accuracy compared with the row above, in percentage points; reward: mean over the training steps';

/** For kinds of training that took several rounds, their change in total: one line each. */
export function phaseLines({ phases }: Pick<Results, 'phases'>): string[] {
  return phases
    .filter(({ rounds, before }) => rounds > 1 && before !== null)
    .map(({ name, before, measured }) => {
      const changes = ofRounds.flatMap((figure) => {
        const difference = differenceOf(before, measured, figure);
        return difference === null ? [] : [`${figure.label} ${figure.change(difference)}`];
      });
      return `${name.replace(/^\+ /, '')} together: ${changes.join(', ')}`;
    });
}

/** Numbers over the training steps; null before the first of them. */
export function trainingTable({ training }: Pick<Results, 'training'>): Table | null {
  if (training === null) return null;
  const { loss, heldOutLoss, learningRate } = training;
  const row = (label: string, course: Course | null, show: Show): string[][] =>
    course === null
      ? []
      : [[label, ...[course.first, course.last, course.lowest, course.highest].map(show)]];
  return {
    columns: columns(['over all steps', 'first', 'last', 'lowest', 'highest']),
    rows: [
      ...row('loss', loss, fixed(4)),
      ...row('held-out loss', heldOutLoss, fixed(4)),
      ...row('learning rate', learningRate, significant(3)),
    ],
  };
}
