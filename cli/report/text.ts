/** The report as plain text. */
import { counted } from '../../streams/doctor/counted.ts';
import { table } from '../table.ts';
import { duration, figures, shown } from './figures.ts';
import { phaseCell, phaseFigures, tellsPhases } from './phases.ts';
import type { Report } from './summary.ts';

export function reportText(report: Report): string {
  const { run, job, seed, status, before, after, rounds, seconds, deadLetters } = report;
  const parts = [`${run}: ${job}, seed ${seed}, ${status}, ${duration(seconds)}`];
  if (before === null) parts.push('Nothing is measured yet: the first evaluation is not complete.');
  else {
    const rows = figures.map(({ key, label, show }) => [
      label,
      show(before[key]),
      shown(after?.[key], show),
    ]);
    parts.push(
      table([['held-out questions', 'before', 'after'], ...rows], ['left', 'right', 'right']),
    );
  }
  if (rounds.length > 0) parts.push(roundsText(report));
  if (tellsPhases(report)) parts.push(phasesText(report));
  if (deadLetters > 0) {
    parts.push(`${counted(deadLetters, 'dead letter')}, see millrace dlq ls ${run}`);
  }
  return parts.join('\n\n');
}

function roundsText({ rounds }: Report): string {
  const measured = figures.filter(({ key }) => key !== 'questions');
  const head = ['round', 'steps', 'reward', ...measured.map(({ label }) => label), 'time'];
  const rows = rounds.map((round) => [
    round.name,
    String(round.steps),
    shown(round.reward, (value) => value.toFixed(3)),
    ...measured.map(({ key, show }) => shown(round[key], show)),
    shown(round.seconds, duration),
  ]);
  return table(
    [head, ...rows],
    head.map((_, column) => (column === 0 ? 'left' : 'right')),
  );
}

function phasesText({ phases }: Report): string {
  const head = ['what each phase added', ...phaseFigures.map(({ label }) => label)];
  const rows = phases.map((phase) => [
    phase.name,
    ...phaseFigures.map((figure) => phaseCell(phase, figure)),
  ]);
  return table(
    [head, ...rows],
    head.map((_, column) => (column === 0 ? 'left' : 'right')),
  );
}
