/** The results of a run as plain text. */

import { textTable, wrapped } from '../../base/terminal/index.ts';
import { counted } from '../../base/text/index.ts';
import type { Results } from '../results.ts';
import {
  beforeAfterTable,
  phaseLines,
  roundsNote,
  roundsTable,
  trainingTable,
} from '../tables/results.ts';
import { askedOf, headOf, trainedOf } from './reportLines.ts';

export interface ReportTextOptions {
  /** Characters of a line; left out = as many as the tables have. */
  readonly columns?: number;
}

export function reportText(results: Results, options: ReportTextOptions = {}): string {
  const { columns } = options;
  const { run, deadLetters, warnings } = results;
  const broken = (line: string): string => wrapped(line, columns ?? line.length).join('\n');
  const parts = [
    [`${run}: ${headOf(results)}`, ...trainedOf(results)].map(broken).join('\n'),
    ...measured(results, columns).map((lines) => lines.join('\n')),
    ...warnings.map((text) => broken(`note: ${text}`)),
    ...(deadLetters === 0
      ? []
      : [`${counted(deadLetters, 'dead letter')} (millrace dlq ls ${run})`]),
  ];
  return parts.join('\n\n');

  function measured(of: Results, width: number | undefined): string[][] {
    const beforeAfter = beforeAfterTable(of);
    if (beforeAfter === null) return unmeasured(of, width);
    const rounds = [textTable(roundsTable(of), width), broken(roundsNote)];
    return [
      [broken(askedOf(of)), textTable(beforeAfter, width)],
      ...(of.rounds.length === 0 ? [] : [[...rounds, ...phaseLines(of).map(broken)]]),
    ];
  }
}

/** For a run that asks no held-out questions, or has not yet. */
function unmeasured(results: Results, columns: number | undefined): string[][] {
  const training = trainingTable(results);
  if (training === null) return [['No results yet: the first evaluation is not complete.']];
  return [[textTable(training, columns)]];
}
