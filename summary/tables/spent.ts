/**
 * Where the time of a run went, stage by stage: over the whole life of its processes, in words that fit both
 * an ended run and a running one.
 */

import { columns, type Table } from '../../base/terminal/index.ts';
import { percent, rate } from '../format/numbers.ts';
import type { Live } from '../live.ts';

export function spentTable({ sources, stages }: Live): Table {
  return {
    columns: columns(['stage', 'reads', 'in', 'out', 'out/s', 'idle', 'full', 'commits'], 2),
    rows: [
      ...sources.map(({ name, items, perSecond, held }) => [
        name,
        'a source',
        '',
        String(items),
        rate(perSecond),
        '',
        percent(held, 0),
        '',
      ]),
      ...stages.map((stage) => [
        stage.name,
        stage.from,
        String(stage.in),
        String(stage.out),
        rate(stage.outPerSecond),
        ...[stage.waits, stage.full, stage.commits].map((share) => percent(share, 0)),
      ]),
    ],
  };
}

/** What the columns mean, unless the names suffice. */
export const spentColumns: readonly (readonly [label: string, about: string])[] = [
  ['idle', 'share of the time with no record in progress'],
  ['full', 'share of the time at full capacity (a source: held back by its readers)'],
  ['commits', 'share of the time with a commit in progress'],
];
