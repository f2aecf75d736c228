/**
 * `millrace top`: what every stage of a live run does and waits for, from another process.
 *
 * Refreshed in place on a terminal, elsewhere a set of lines an interval. It reads what the run's processes put on the
 * board of its log, and like a tap belongs to no group and commits nothing. It ends when the run has.
 */
import type { Log } from '../../streams/log.ts';
import type { Topic } from '../../streams/topic.ts';
import { topics } from '../../streams/topics.ts';
import { everyMs } from '../every.ts';
import { exitCodes } from '../failure.ts';
import { interruption } from '../interruption.ts';
import type { Io, Screen } from '../io.ts';
import { readRunRecord } from '../runRecord.ts';
import { findRun, type Run, withLog } from '../runs.ts';
import { type Frame, frameOf, isLive, type Look } from './frame.ts';
import { frameLines } from './text.ts';
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
  try {
    await withLog(run, async (log) => {
      const watch = new Watch(run, log, io);
      try {
        await follow(watch, { ...options, intervalMs }, interrupted.signal, io);
      } finally {
        watch.stop();
      }
    });
  } finally {
    interrupted.release();
  }
  return exitCodes.done;
}

async function follow(
  watch: Watch,
  { once, json, intervalMs }: Pick<TopOptions, 'once' | 'json'> & { readonly intervalMs: number },
  signal: AbortSignal,
  io: Io,
): Promise<void> {
  const painter = new Painter(io, json === true);
  let frame = await watch.look();
  if (once === true) {
    // Rates are differences: of a live run, over one interval.
    if (mayWork(frame)) {
      await pause(intervalMs, signal);
      frame = await watch.look();
    }
    return painter.paint(frame);
  }
  for (;;) {
    await painter.paint(frame);
    if (signal.aborted || isOver(frame)) return;
    await pause(intervalMs, signal);
    if (signal.aborted) return;
    frame = await watch.look();
  }
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

/** Over the frame before on a terminal; else below it. */
class Painter {
  readonly #io: Io;
  readonly #json: boolean;
  /** Lines of the frame that is on the terminal. */
  #lines = 0;

  constructor(io: Io, json: boolean) {
    this.#io = io;
    this.#json = json;
  }

  async paint(frame: Frame): Promise<void> {
    if (this.#json) return this.#io.out(`${JSON.stringify(frame)}\n`);
    const screen = this.#io.screen?.() ?? null;
    const lines = frameLines(frame);
    if (screen === null) return this.#io.out(`${lines.join('\n')}\n\n`);
    const shown = fitting(lines, screen);
    const over = this.#lines === 0 ? '' : `\u001b[${this.#lines}A\r\u001b[J`;
    this.#lines = shown.length;
    return this.#io.out(`${over}${shown.join('\n')}\n`);
  }
}

/** A line that wraps, or one above the screen, could not be painted over. */
function fitting(lines: readonly string[], { columns, rows }: Screen): string[] {
  return lines.slice(0, Math.max(1, rows - 1)).map((line) => line.slice(0, columns - 1));
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
