/**
 * `millrace diff RUN_A RUN_B`: where two runs diverge, what they were started with, and their metrics side by
 * side. Opens both read-only. Exit code 1 when they differ, like diff(1).
 */

import { isDeepStrictEqual } from 'node:util';
import { jsonText, table } from '../base/terminal/index.ts';
import { counted, thousands } from '../base/text/index.ts';
import type { Log } from '../streams/index.ts';
import {
  type Compared,
  type Divergence,
  divergence,
  type Reading,
} from '../streams/replay/index.ts';
import { orDash, signed, significant } from '../summary/format/index.ts';
import { type ComparedMetric, compareMetrics, readMetrics } from '../summary/index.ts';
import { allTopics } from '../topics/index.ts';
import { exitCodes } from './failure.ts';
import { stoppable } from './interruption.ts';
import type { Io } from './io.ts';
import { withLocalLog } from './localLog.ts';
import { meanwhile } from './progress/meanwhile.ts';
import { differenceText, placeOf, shown } from './replay/differenceText.ts';
import { findRun, type Run } from './runs.ts';

export interface DiffOptions {
  readonly a: string;
  readonly b: string;
  readonly runs: string;
  readonly json?: boolean;
}

/** One setting or fact that the runs were started with. */
interface StartRow {
  readonly setting: string;
  readonly a: unknown;
  readonly b: unknown;
}

export async function diffCommand(options: DiffOptions, io: Io): Promise<number> {
  const a = await findRun(io, options.runs, options.a);
  const b = await findRun(io, options.runs, options.b);
  const { compared, metrics } = await stoppable(io, (scratch) =>
    withLocalLog(a, { io, scratch }, ({ log: first }) =>
      withLocalLog(b, { io, scratch }, ({ log: second }) => comparedLogs(first, second, io)),
    ),
  );
  const started = startedWith(a, b);
  await io.out(
    options.json === true
      ? `${jsonText({ a: a.name, b: b.name, started, ...compared, metrics })}\n`
      : diffText(a, b, { started, compared, metrics }),
  );
  return compared.divergence === null ? exitCodes.done : exitCodes.failed;
}

/** A terminal shows the progress. */
async function comparedLogs(first: Log, second: Log, io: Io): Promise<Omit<Found, 'started'>> {
  let seen: Parameters<Reading> | null = null;
  const done = meanwhile(io, () =>
    seen === null ? 'comparing' : `compared ${thousands(seen[0])} of ${counted(seen[1], 'record')}`,
  );
  try {
    const compared = await divergence(allTopics, first, second, (...now) => {
      seen = now;
    });
    return {
      compared,
      metrics: compareMetrics(await readMetrics(first), await readMetrics(second)),
    };
  } finally {
    done();
  }
}

function startedWith(a: Run, b: Run): StartRow[] {
  const of = ({ record }: Run) => ({ job: record.job.name, seed: record.seed, ...record.settings });
  const [first, second] = [of(a), of(b)] as Readonly<Record<string, unknown>>[];
  return [...new Set([...Object.keys(first!), ...Object.keys(second!)])]
    .filter((setting) => !isDeepStrictEqual(first![setting], second![setting]))
    .map((setting) => ({ setting, a: first![setting], b: second![setting] }));
}

interface Found {
  readonly started: readonly StartRow[];
  readonly compared: Compared;
  readonly metrics: readonly ComparedMetric[];
}

function diffText(a: Run, b: Run, { started, compared, metrics }: Found): string {
  const head = [
    ['', a.name, b.name],
    ...started.map((row) => [row.setting, shown(row.a), shown(row.b)]),
  ];
  const records = Object.entries(compared.same).map(([topic, { equal, all }]) => [
    topic,
    `${thousands(equal)} of ${thousands(all)}`,
  ]);
  const numbers = metrics.map((row) => [
    String(row.round),
    row.name,
    orDash(row.a, short),
    orDash(row.b, short),
    row.a === null || row.b === null ? '' : difference(row.b - row.a),
  ]);
  const sections = [
    started.length === 0 ? 'same job, seed and settings' : table(head, ['left']),
    divergenceText(a.name, b.name, compared.divergence),
    table([['topic', 'equal'], ...records], ['left', 'right']),
    table(
      [['round', 'metric', a.name, b.name, 'difference'], ...numbers],
      ['right', 'left', 'right', 'right', 'right'],
    ),
  ];
  return `${sections.join('\n\n')}\n`;
}

function divergenceText(a: string, b: string, found: Divergence | null): string {
  if (found === null) return `${a} and ${b} have the same records`;
  const { difference, moment } = found;
  const when = moment < 0 ? 'before training' : whenOf(moment);
  if (difference.kind === 'differs') {
    return `they first differ ${when}, at ${differenceText(difference, [a, b])}`;
  }
  const only = difference.kind === 'notMadeAgain' ? a : b;
  return `they first differ ${when}: only ${only} has ${placeOf(difference)}`;
}

function whenOf(moment: number): string {
  return Number.isFinite(moment) ? `under policy version ${moment}` : 'at an unknown time';
}

const short = significant(4);

function difference(value: number): string {
  return value === 0 ? '0' : signed(value, short);
}
