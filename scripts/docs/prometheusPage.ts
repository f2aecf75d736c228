/** The page of a run's Prometheus metrics, from the table that serves them. */
import { allFamilies } from '../../summary/prometheus/families.ts';
import { sentence, table } from './table.ts';

export function prometheusPage(): string {
  const rows = allFamilies.map(({ name, type, labels, help }) => [
    `\`${name}\``,
    type,
    labels.join(', '),
    sentence(help),
  ]);
  return [
    '# Names for Prometheus',
    'What `millrace run --metrics-port` and `millrace metrics` serve ([monitoring](../observability.md)). Every sample also has the label `run`.',
    table(['name', 'kind', 'labels', 'what it is'], rows),
  ].join('\n\n');
}
