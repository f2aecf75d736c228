/** The results of a run as plain text. */
import { counted } from '../../streams/doctor/counted.ts';
import { duration } from '../numbers.ts';
import type { Results } from '../summary/results.ts';
import { beforeAfterTable, phasesNote, phasesTable, roundsTable } from '../tables/results.ts';
import { textTable } from './table.ts';

export function reportText(results: Results): string {
  const { run, job, seed, status, seconds, deadLetters, rounds } = results;
  const beforeAfter = beforeAfterTable(results);
  const phases = phasesTable(results);
  const parts = [
    `${run}: ${job}, seed ${seed}, ${status}, ${duration(seconds)}`,
    beforeAfter === null
      ? 'Nothing is measured yet: the first evaluation is not complete.'
      : textTable(beforeAfter),
    ...(rounds.length === 0 ? [] : [textTable(roundsTable(results))]),
    ...(phases === null ? [] : [`${textTable(phases)}\n${phasesNote}`]),
    ...(deadLetters === 0
      ? []
      : [`${counted(deadLetters, 'dead letter')}, see millrace dlq ls ${run}`]),
  ];
  return parts.join('\n\n');
}
