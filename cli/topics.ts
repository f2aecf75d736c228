/** `millrace topics`: what is in a run's topics, and how far each reading group is behind. */

import { jsonText, table, wrapped } from '../base/terminal/index.ts';
import type { TopicStat } from '../streams/index.ts';
import { size } from '../summary/format/index.ts';
import { exitCodes } from './failure.ts';
import type { Io } from './io.ts';
import { findRun, withLog } from './runs.ts';

export interface TopicsOptions {
  readonly run?: string;
  readonly runs: string;
  readonly json?: boolean;
}

export async function topicsCommand(options: TopicsOptions, io: Io): Promise<number> {
  const run = await findRun(io, options.runs, options.run);
  const stats = await withLog(run, (log) => log.stats());
  const text =
    options.json === true
      ? jsonText({ run: run.name, status: run.record.status, topics: stats })
      : topicsTable(stats, io.screen?.()?.columns);
  await io.out(`${text}\n`);
  return exitCodes.done;
}

const HEAD = ['topic', 'records', 'size', 'lag'];
const GAP = 2;
/** A narrower column makes no sense. */
const LAG_MIN = 16;

/** `columns` = of the terminal: what does not fit beside a topic goes below. */
export function topicsTable(stats: readonly TopicStat[], columns?: number): string {
  const named = stats.map(({ topic, records, bytes }) => [topic, String(records), size(bytes)]);
  const widths = [0, 1, 2].map((i) =>
    Math.max(...[HEAD, ...named].map((cells) => cells[i]!.length)),
  );
  const before = widths.reduce((sum, width) => sum + width + GAP, 0);
  const room = Math.max(LAG_MIN, (columns ?? Number.POSITIVE_INFINITY) - before - 1);
  const rows = stats.flatMap(({ lag }, i) => {
    const groups = Object.entries(lag).map(([group, count]) => `${group}\u00a0${count}`);
    const [first = '', ...more] = wrapped(groups.join(', '), room);
    return [[...named[i]!, first], ...more.map((line) => ['', '', '', line])];
  });
  return table([HEAD, ...rows], ['left', 'right', 'right']).replaceAll('\u00a0', ' ');
}
