/** An evaluation as plain text. */
import { duration } from '../report/figures.ts';
import { table } from '../table.ts';
import { cautionsOf, columnsOf, headOf, meansOf } from './columns.ts';
import type { EvalReport } from './evalReport.ts';

export function evalText(report: EvalReport): string {
  const columns = columnsOf(report);
  const head = ['', ...columns.map(({ label }) => label)];
  const rows = report.rows.map((row) => [row.source, ...columns.map(({ show }) => show(row))]);
  const means = meansOf(report).map(({ name, numbers }) => [
    `mean of ${name}`,
    ...columns.map(({ mean }) => mean(numbers)),
  ]);
  const parts = [
    `${report.run}: ${headOf(report)} · ${duration(report.seconds)}`,
    table([head, ...rows, ...means], ['left', ...columns.map(() => 'right' as const)]),
    ...cautionsOf(report),
  ];
  return parts.join('\n\n');
}
