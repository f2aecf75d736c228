/**
 * `millrace tap`: the records of a topic, from another process, while the run goes on or after it.
 *
 * It opens the log to read, belongs to no group and commits nothing: a job cannot tell that it is watched.
 */
import { exitCodes, usageError } from '../failure.ts';
import type { Io } from '../io.ts';
import { findRun, withLog } from '../runs.ts';
import { runAndTopic, topicNamed } from '../topicNamed.ts';
import { pickFields } from './fields.ts';
import { type FormatName, formatOf } from './formats.ts';
import { parseFrom } from './from.ts';
import { paced } from './paced.ts';
import { where } from './where.ts';

export interface TapOptions {
  /** `<run>.<topic>` or a topic. */
  readonly topic: string;
  readonly run?: string;
  readonly runs: string;
  readonly from?: string;
  readonly follow?: boolean;
  /** Most records to print. */
  readonly count?: number;
  readonly where?: string;
  readonly fields?: string;
  readonly output: FormatName;
  readonly envelope?: boolean;
}

export async function tapCommand(options: TapOptions, io: Io): Promise<number> {
  const named = runAndTopic(options.topic);
  if (named.run !== undefined && options.run !== undefined && named.run !== options.run) {
    throw usageError(`the topic is of run ${named.run} and --run says ${options.run}; give one`);
  }
  const topic = topicNamed(named.topic);
  const follow = options.follow === true;
  const from = parseFrom(options.from ?? (follow ? 'latest' : 'earliest'), io.clock.now());
  const filter = options.where === undefined ? null : where(options.where);
  const pick = options.fields === undefined ? null : pickFields(options.fields);
  const format = formatOf(options.output, pick, options.envelope === true);
  const run = await findRun(io, options.runs, named.run ?? options.run);
  const stopping = new AbortController();
  const release = io.onInterrupt(() => stopping.abort());
  let left = options.count ?? Number.POSITIVE_INFINITY;
  try {
    await withLog(run, async (log) => {
      const records = paced(
        (start) => log.tap(topic, { from: start, follow }),
        from,
        stopping.signal,
      );
      if (left <= 0) return;
      for await (const stored of records) {
        if (filter !== null && !filter.matches(stored)) continue;
        await io.out(await format(stored));
        if (--left <= 0) break;
      }
    });
  } finally {
    release();
  }
  const { count, first } = filter?.failures() ?? { count: 0, first: '' };
  if (count > 0)
    io.err(`--where failed on ${count} records, which do not match; first at ${first}`);
  return exitCodes.done;
}
