/**
 * `millrace top`: what every stage of a live run does and waits for, from another process.
 *
 * Refreshed in place on a terminal, elsewhere a set of lines an interval. It reads what the run's processes put on the
 * board of its log, and like a tap belongs to no group and commits nothing. While a broker does not answer it says so and
 * waits. It ends when the run has.
 */
import type { Log } from '../../streams/log.ts';
import type { Topic } from '../../streams/topic.ts';
import { topics } from '../../streams/topics.ts';
import { everyMs } from '../every.ts';
import { exitCodes } from '../failure.ts';
import { interruption } from '../interruption.ts';
import type { Io } from '../io.ts';
import { readRunRecord } from '../runRecord.ts';
import { findRun, openRunLog, type Run } from '../runs.ts';
import { type Frame, frameOf, isLive, type Look } from './frame.ts';
import { Painter } from './painter.ts';
import { TokenMeter } from './tokenMeter.ts';
import { Workers } from './workers.ts';

export interface TopOptions {
  readonly run?: string;
  readonly runs: string;
  readonly interval: string;
  readonly once?: boolean;
  readonly json?: boolean;
}

/** Names a step writes, and those of an evaluation that may follow it. */
const METRICS_LAST = 128;

export async function topCommand(options: TopOptions, io: Io): Promise<number> {
  const intervalMs = everyMs('--interval', options.interval);
  const run = await findRun(io, options.runs, options.run);
  io.giveWay?.();
  const interrupted = interruption(io, null);
  const painter = new Painter(io, options.json === true);
  try {
    const log = await openRunLog(run, { mode: 'read', notice: (line) => painter.notice(line) });
    const watch = new Watch(run, log, io);
    try {
      await follow(watch, painter, { once: options.once === true, intervalMs }, interrupted.signal);
    } finally {
      watch.stop();
      await log.close();
    }
  } finally {
    interrupted.release();
  }
  return exitCodes.done;
}

async function follow(
  watch: Watch,
  painter: Painter,
  { once, intervalMs }: { readonly once: boolean; readonly intervalMs: number },
  signal: AbortSignal,
): Promise<void> {
  const stopped = aborted(signal);
  // A look takes as long as a broker is gone; Ctrl-C does not wait for it.
  const look = async (): Promise<Frame | null> =>
    signal.aborted ? null : Promise.race([watch.look(), stopped]);
  let frame = await look();
  // Rates are differences: of a live run, over one interval.
  if (once && frame !== null && mayWork(frame)) {
    await pause(intervalMs, signal);
    frame = (await look()) ?? frame;
  }
  while (frame !== null) {
    await painter.paint(frame);
    if (once || signal.aborted || isOver(frame)) return;
    await pause(intervalMs, signal);
    frame = await look();
  }
}

/** Resolves to null once the signal aborts. */
function aborted(signal: AbortSignal): Promise<null> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve(null);
    else signal.addEventListener('abort', () => resolve(null), { once: true });
  });
}

/** Some process works, or has not yet said so. */
function mayWork({ status, workers }: Frame): boolean {
  return workers.some(isLive) || (status === 'running' && workers.length === 0);
}

function isOver({ status, workers }: Frame): boolean {
  return status !== 'running' && !workers.some(isLive);
}

/** Looks at a run again and again. */
class Watch {
  readonly #run: Run;
  readonly #log: Log;
  readonly #io: Io;
  readonly #workers = new Workers();
  readonly #meter = new TokenMeter();
  readonly #metrics = new Map<string, number>();

  constructor(run: Run, log: Log, io: Io) {
    this.#run = run;
    this.#log = log;
    this.#io = io;
    this.#meter.start(log, io.clock.now());
  }

  async look(): Promise<Frame> {
    const { name, folder, record } = this.#run;
    const [policy, metrics] = [
      await this.#last(topics.weights, 1),
      await this.#last(topics.metrics, METRICS_LAST),
    ];
    for (const { name: metric, value } of metrics) this.#metrics.set(metric, value);
    const posted = (await this.#log.posted?.()) ?? [];
    const nowMs = this.#io.clock.now();
    const look: Look = {
      ...{ run: name, nowMs, metrics: this.#metrics },
      record: (await readRunRecord(folder)) ?? record,
      workers: this.#workers.update(posted),
      topics: await this.#log.stats(),
      policy: policy.at(-1) ?? null,
      generating: this.#meter.perSecond(nowMs),
    };
    return frameOf(look);
  }

  stop(): void {
    this.#meter.stop();
  }

  async #last<T>(topic: Topic<T>, count: number): Promise<readonly T[]> {
    const values: T[] = [];
    const options = {
      from: { kind: 'last', count },
      follow: false,
      unreadable: () => undefined,
    } as const;
    await this.#log.tap(topic, options).forEach(({ value }) => void values.push(value));
    return values;
  }
}

function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const end = (): void => {
      clearTimeout(timer);
      signal.removeEventListener('abort', end);
      resolve();
    };
    const timer = setTimeout(end, ms);
    signal.addEventListener('abort', end);
    if (signal.aborted) end();
  });
}
