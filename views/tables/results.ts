/** The tables of a run's results: before and after, round by round, what each phase added. */
import { duration, fixed, orDash } from '../numbers.ts';
import type { Phase } from '../summary/phases.ts';
import type { Results } from '../summary/results.ts';
import { differenceOf, type Figure, figureOf, figures, trainedFigures } from './figures.ts';
import { columns, type Table } from './table.ts';

/** A row for each figure; null before the first evaluation. */
export function beforeAfterTable({ before, after }: Results): Table | null {
  if (before === null) return null;
  return {
    columns: columns(['held-out questions', 'before', 'after', 'change']),
    rows: figures.map((figure) => {
      const { label, show, change, better } = figure;
      const difference = better === 'neither' ? null : differenceOf(before, after, figure);
      return [
        label,
        orDash(figureOf(before, figure), show),
        orDash(figureOf(after, figure), show),
        difference === null ? '' : change(difference),
      ];
    }),
  };
}

/** A row for each round, with one before them for the state before training. */
export function roundsTable({ before, rounds }: Results): Table {
  const labels = trainedFigures.map(({ label }) => label);
  return {
    columns: columns(['round', 'steps', 'reward', ...labels, 'time']),
    rows: [
      [
        'before',
        '',
        '',
        ...trainedFigures.map((figure) => orDash(figureOf(before, figure), figure.show)),
        '',
      ],
      ...rounds.map((round) => [
        round.name,
        String(round.steps),
        orDash(round.reward, fixed(3)),
        ...trainedFigures.map((figure) => orDash(figureOf(round, figure), figure.show)),
        orDash(round.seconds, duration),
      ]),
    ],
  };
}

/** Null where there is one kind of training: before and after say it all. */
export function phasesTable({ phases }: Pick<Results, 'phases'>): Table | null {
  if (phases.length < 3) return null;
  return {
    columns: columns(['phase', ...trainedFigures.map(({ label }) => label)]),
    rows: phases.map((phase) => [
      phase.name,
      ...trainedFigures.map((figure) => phaseCell(phase, figure)),
    ]),
  };
}

/** What the brackets of `phasesTable` hold. */
export const phasesNote = 'in brackets: what the phase changed, shares in percentage points';

function phaseCell({ measured, before }: Phase, figure: Figure): string {
  const value = orDash(figureOf(measured, figure), figure.show);
  const difference = differenceOf(before, measured, figure);
  return difference === null ? value : `${value} (${figure.difference(difference)})`;
}
