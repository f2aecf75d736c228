/**
 * `millrace tap`: the records of topics, from another process, while the run goes on or after it.
 *
 * It opens the log to read, belongs to no group and commits nothing: a job cannot tell that it is watched. A tap
 * whose output is slow reads slowly; what it has not read stays in the log. Only `--rate` leaves records out.
 */
import type { Clock } from '../../streams/clock.ts';
import type { From, Log, Stored } from '../../streams/log.ts';
import type { Topic } from '../../streams/topic.ts';
import { everyMs } from '../every.ts';
import { exitCodes } from '../failure.ts';
import { interruption } from '../interruption.ts';
import type { Io } from '../io.ts';
import { findRun, withLog } from '../runs.ts';
import { Bell, byTime } from './byTime.ts';
import { pickFields } from './fields.ts';
import { type Format, type FormatName, formatOf } from './formats.ts';
import { parseFrom } from './from.ts';
import { Lane, type Unreadable } from './lane.ts';
import { tapped } from './patterns.ts';
import { visible } from './pretty.ts';
import { Tally } from './tally.ts';
import { rate, sample, type Thin } from './thin.ts';
import { type Where, where } from './where.ts';

export interface TapOptions {
  /** Each `<run>.<topic>` or a topic; `*` and `?` stand for others. */
  readonly topics: readonly string[];
  readonly run?: string;
  readonly runs: string;
  readonly from?: string;
  readonly follow?: boolean;
  /** Most records to print. */
  readonly count?: number;
  readonly where?: string;
  readonly fields?: string;
  readonly sample?: string;
  readonly rate?: string;
  readonly stats?: string | true;
  readonly output: FormatName;
  readonly envelope?: boolean;
}

/** Twice as long as an embedded log that is read takes to see what is new. */
const HOLD_MS = 200;
const TELL_DROPPED_MS = 5_000;
const UNREADABLE_TOLD_MAX = 5;

/** What is asked for, checked before anything is opened. */
interface Plan {
  readonly topics: readonly Topic<unknown>[];
  readonly from: From;
  readonly follow: boolean;
  readonly countMax: number;
  readonly filter: Where | null;
  readonly sample: Thin | null;
  readonly rate: Thin | null;
  readonly format: Format;
  /** Null = no statistics. */
  readonly statsMs: number | null;
}

export async function tapCommand(options: TapOptions, io: Io): Promise<number> {
  const { run: name, topics } = tapped(options.topics, options.run);
  const plan = planOf(options, topics, io.clock);
  const run = await findRun(io, options.runs, name);
  io.giveWay?.();
  const interrupted = interruption(io, null);
  try {
    await withLog(run, (log) => new Tapping(plan, interrupted.signal, io).run(log));
  } finally {
    interrupted.release();
  }
  return exitCodes.done;
}

function planOf(options: TapOptions, topics: readonly Topic<unknown>[], clock: Clock): Plan {
  const follow = options.follow === true;
  const pick = options.fields === undefined ? null : pickFields(options.fields);
  // Records of several topics have nothing in common but their envelope.
  const envelope = options.envelope === true || topics.length > 1;
  return {
    topics,
    follow,
    from: parseFrom(options.from ?? (follow ? 'latest' : 'earliest'), clock.now()),
    countMax: options.count ?? Number.POSITIVE_INFINITY,
    filter: options.where === undefined ? null : where(options.where),
    sample: options.sample === undefined ? null : sample(options.sample),
    rate: options.rate === undefined ? null : rate(options.rate, clock),
    format: formatOf(options.output, pick, envelope),
    statsMs: options.stats === undefined ? null : statsMs(options.stats),
  };
}

function statsMs(every: string | true): number {
  return everyMs('--stats', every === true ? '1s' : every);
}

class Tapping {
  readonly #plan: Plan;
  readonly #signal: AbortSignal;
  readonly #io: Io;
  readonly #lanes: readonly Lane[];
  readonly #bell = new Bell();
  readonly #tally: Tally;
  #droppedTold = 0;

  constructor(plan: Plan, signal: AbortSignal, io: Io) {
    this.#plan = plan;
    this.#signal = signal;
    this.#io = io;
    this.#lanes = plan.topics.map(
      ({ name }) =>
        new Lane(name, {
          changed: () => this.#bell.ring(),
          unreadable: (record) => this.#unreadable(record),
        }),
    );
    this.#tally = new Tally(this.#lanes, io.clock.now());
  }

  async run(log: Log): Promise<void> {
    const { topics, from, follow, countMax, statsMs } = this.#plan;
    if (countMax <= 0) return;
    const telling = setInterval(
      () => (statsMs === null ? this.#tellDropped() : this.#tellStats()),
      statsMs ?? TELL_DROPPED_MS,
    );
    try {
      for (const [i, lane] of this.#lanes.entries()) {
        lane.start((own) => log.tap(topics[i]!, { from, follow, ...own }));
      }
      await this.#show();
    } finally {
      clearInterval(telling);
      for (const lane of this.#lanes) lane.close();
    }
    this.#tellEnd();
  }

  async #show(): Promise<void> {
    const { countMax, format } = this.#plan;
    const signal = this.#signal;
    const stopped = new Promise<void>((resolve) => {
      signal.addEventListener('abort', () => resolve(), { once: true });
    });
    let shown = 0;
    for await (const stored of byTime(this.#lanes, { bell: this.#bell, holdMs: HOLD_MS, signal })) {
      this.#tally.read(stored);
      if (!this.#takes(stored)) continue;
      // An output that takes nothing any more is no reason to outlive Ctrl-C.
      await Promise.race([this.#io.out(await format(stored)), stopped]);
      this.#tally.shown(stored);
      shown += 1;
      if (shown >= countMax) return;
    }
  }

  #takes(stored: Stored<unknown>): boolean {
    const { sample, filter, rate } = this.#plan;
    if (sample !== null && !sample(stored)) return false;
    if (filter !== null && !filter.matches(stored)) return false;
    if (rate === null || rate(stored)) return true;
    this.#tally.dropped(stored);
    return false;
  }

  #unreadable({ topic, position: { partition, offset }, error }: Unreadable): void {
    this.#tally.unreadable(topic);
    const told = this.#tally.total.unreadable;
    if (told > UNREADABLE_TOLD_MAX) return;
    const more = told === UNREADABLE_TOLD_MAX ? ' (further ones are counted only)' : '';
    this.#io.err(`passed over ${topic}@${partition}/${offset}: ${visible(error.message)}${more}`);
  }

  #tellStats(): void {
    this.#io.err(this.#tally.tell(this.#io.clock.now()));
  }

  #tellDropped(): void {
    const { read, dropped } = this.#tally.total;
    if (dropped === this.#droppedTold) return;
    this.#droppedTold = dropped;
    this.#io.err(`dropped ${dropped} of ${read} records so far: more than --rate lets through`);
  }

  #tellEnd(): void {
    const { read, dropped, unreadable } = this.#tally.total;
    if (this.#plan.statsMs !== null) this.#tellStats();
    else if (dropped > 0) {
      this.#io.err(`dropped ${dropped} of ${read} records: more than --rate lets through`);
    }
    if (unreadable > 0) this.#io.err(`${unreadable} records could not be read`);
    const { count, first } = this.#plan.filter?.failures() ?? { count: 0, first: '' };
    if (count > 0) {
      this.#io.err(`--where failed on ${count} records, which do not match; first at ${first}`);
    }
  }
}
