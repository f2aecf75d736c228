/** `millrace topics`: what is in a run's topics, and how far each reading group is behind. */

import type { TopicStat } from '../streams/index.ts';
import { size } from '../summary/format/index.ts';
import { jsonText, table } from '../summary/text/index.ts';
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
      : table([['topic', 'records', 'size', 'lag'], ...stats.map(row)], ['left', 'right', 'right']);
  await io.out(`${text}\n`);
  return exitCodes.done;
}

function row({ topic, records, bytes, lag }: TopicStat): string[] {
  const groups = Object.entries(lag).map(([group, count]) => `${group} ${count}`);
  return [topic, String(records), size(bytes), groups.join(', ')];
}
