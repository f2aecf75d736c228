/** What each source and stage of a run does and waits for. */

import { columns, type Table } from '../../base/terminal/index.ts';
import { percent, rate } from '../format/numbers.ts';
import type { Live, SourceRow, StageRow } from '../live.ts';

/** In a narrow table these columns are dropped, the last first. */
const drops = { 'in/s': 1, groups: 2, commits: 3, reads: 4 };

export function stagesTable({ sources, stages }: Live): Table {
  const measured = ['in/s', 'out/s', 'in flight', 'groups', 'lag', 'waits', 'full', 'commits'];
  return {
    columns: columns(['stage', 'reads', ...measured], 2, drops),
    rows: [...sources.map(sourceCells), ...stages.map(stageCells)],
  };
}

function stageCells(row: StageRow): string[] {
  return [
    row.name,
    row.from,
    rate(row.inPerSecond),
    rate(row.outPerSecond),
    `${row.inflight}/${row.inflightMax}`,
    row.waiting === 0 ? '' : String(row.waiting),
    String(row.lag),
    ...[row.waits, row.full, row.commits].map((share) => percent(share, 0)),
  ];
}

function sourceCells({ name, perSecond, items, done, held }: SourceRow): string[] {
  const out = done ? 'done' : rate(perSecond);
  return [name, `(source, ${items})`, '', out, '', '', '', '', percent(held, 0), ''];
}

/** What the columns of `stagesTable` mean, unless the labels suffice. */
export const stageColumns: readonly (readonly [label: string, about: string])[] = [
  ['groups', 'records in flight that wait for the others of their group'],
  ['lag', 'records of its topic not yet settled'],
  ['waits', 'share of the time with nothing in flight, waiting for input'],
  [
    'full',
    'share of the time at full capacity, holding up its input (a source: held back by its readers)',
  ],
  ['commits', 'share of the time with a commit in progress'],
];
