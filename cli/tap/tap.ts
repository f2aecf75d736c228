/**
 * `millrace tap`: the records of topics, from another process, while the run is running or after it.
 *
 * It opens the log to read, belongs to no group and commits nothing: a job cannot notice that it is watched.
 * A tap whose output is slow reads slowly; what it has not read stays in the log.
 */
import { resolve } from 'node:path';
import { hasCode } from '../../base/index.ts';
import { counted, visible } from '../../base/text/index.ts';
import type { Encoded, Log, Stored, Topic, Unindexed } from '../../streams/index.ts';
import { exitCodes, usageError } from '../failure.ts';
import { interruption } from '../interruption.ts';
import type { Io } from '../io.ts';
import { findRun, listRuns, openRunLog, type Run } from '../runs.ts';
import { tokenText } from '../runTokenizer.ts';
import { byTime, Changes } from './byTime.ts';
import type { Format } from './formats.ts';
import { isPattern, named, topicsLike } from './patterns.ts';
import { type Plan, planOf, type TapOptions } from './plan.ts';
import type { TextOf } from './promptText.ts';
import { Tally } from './tally.ts';
import { TopicQueue, type Unreadable } from './topicQueue.ts';

/** Twice as long as a read-only embedded log takes to see new records. */
const PATIENCE_MS = 200;
const UNREADABLE_SHOWN_MAX = 5;
/** Reading this many records takes no noticeable time. */
const QUIET_MAX = 20_000;
/** Of a record that cannot be read. */
const BYTES_SHOWN_MAX = 16;

export async function tapCommand(options: TapOptions, io: Io): Promise<number> {
  const { run: name, patterns } = named(options.topics, options.run);
  const plan = planOf(options, io);
  const run = await findRun(io, options.runs, name);
  const { status } = run.record;
  if (plan.range.follow && status !== 'running') {
    io.err(`run ${run.name} is ${status}; waiting for it to be resumed (Ctrl-C to quit)`);
  }
  io.giveWay?.();
  const interrupted = interruption(io, null);
  try {
    const log = await openRunLog(run, { mode: 'read', notice: (line) => io.err(line) });
    try {
      const there = (await log.stats()).map(({ topic }) => topic);
      const topics = await meant(patterns, there, () => listRuns(resolve(io.cwd, options.runs)));
      const names = patterns.filter((pattern) => !isPattern(pattern));
      const tapped = { run: run.name, topics, names, there, textOf: tokenText(run, io) };
      await new Tapping(plan, tapped, interrupted.signal, io).run(log);
    } finally {
      await log.close();
    }
  } finally {
    interrupted.release();
  }
  return exitCodes.done;
}

/** The topics. If only a run is named, the error says how to name its topics. */
async function meant(
  patterns: readonly string[],
  there: readonly string[],
  runs: () => Promise<readonly Run[]>,
): Promise<readonly Topic<unknown>[]> {
  try {
    return topicsLike(patterns, there);
  } catch (error) {
    if (!hasCode(error, 'NO_TOPIC')) throw error;
    const run = (await runs()).find(({ name }) => patterns.includes(name));
    if (run === undefined) throw error;
    throw usageError(
      `${run.name} is a run; name one of its topics, such as ${run.name}.rollouts, or all of them: '${run.name}.*'`,
    );
  }
}

/** What to tap. */
interface Tapped {
  readonly run: string;
  readonly topics: readonly Topic<unknown>[];
  /** Those that were named, not just matched by a pattern. */
  readonly names: readonly string[];
  /** Those with records. */
  readonly there: readonly string[];
  /** The run's tokens as text. */
  readonly textOf: TextOf;
}

class Tapping {
  readonly #plan: Plan;
  readonly #run: string;
  readonly #topics: readonly Topic<unknown>[];
  readonly #there: readonly string[];
  readonly #format: Format;
  readonly #signal: AbortSignal;
  readonly #io: Io;
  readonly #queues: readonly TopicQueue[];
  readonly #changes = new Changes();
  readonly #tally: Tally;

  constructor(plan: Plan, tapped: Tapped, signal: AbortSignal, io: Io) {
    const { topics, names, there, textOf } = tapped;
    this.#plan = plan;
    this.#run = tapped.run;
    this.#topics = topics;
    this.#there = there;
    this.#format = plan.format(topics.length, textOf);
    this.#signal = signal;
    this.#io = io;
    const hooks = {
      changed: () => this.#changed(),
      unreadable: (record: Unreadable) => this.#unreadable(record),
    };
    this.#queues = topics.map(({ name }) => new TopicQueue(name, hooks, names.includes(name)));
    this.#tally = new Tally(this.#queues, io.clock.now());
  }

  async run(log: Log): Promise<void> {
    const { range, countMax, statsMs } = this.#plan;
    if (countMax <= 0) return;
    const timer = statsMs === null ? undefined : setInterval(() => this.#printStats(), statsMs);
    try {
      for (const [i, queue] of this.#queues.entries()) {
        const unindexed = this.#unindexed(queue.topic);
        queue.start((own) => log.tap(this.#topics[i]!, { ...range, unindexed, ...own }));
      }
      await this.#show();
    } finally {
      clearInterval(timer);
      for (const queue of this.#queues) queue.close();
    }
    this.#printEnd();
  }

  async #show(): Promise<void> {
    const { countMax, view } = this.#plan;
    const signal = this.#signal;
    const stopped = new Promise<void>((resolve) => {
      signal.addEventListener('abort', () => resolve(), { once: true });
    });
    let shown = 0;
    for await (const stored of byTime(this.#queues, {
      changes: this.#changes,
      patienceMs: PATIENCE_MS,
      signal,
    })) {
      this.#tally.read(stored);
      if (!this.#matches(stored)) continue;
      const value = view(stored);
      if (value === undefined) continue;
      // Ctrl-C must work even if the output is blocked.
      await Promise.race([this.#io.out(await this.#format(stored, value)), stopped]);
      this.#tally.shown(stored);
      shown += 1;
      if (shown >= countMax) return;
    }
  }

  #changed(): void {
    this.#passOver();
    this.#changes.notify();
  }

  /** Topics of a pattern without the requested partitions are skipped if another one has them. */
  #passOver(): void {
    const lacking = this.#queues.filter(({ lacks }) => lacks !== null);
    if (lacking.length === 0 || !this.#queues.every(({ begun }) => begun)) return;
    const goesOn = this.#queues.some(
      ({ topic, lacks }) => lacks === null && this.#there.includes(topic),
    );
    const without = lacking.map(
      ({ topic, lacks }) => `${topic} (no partition ${lacks!.context.partition})`,
    );
    if (goesOn) this.#io.err(`skipped ${without.join(', ')}`);
    for (const queue of lacking) queue.passOver(goesOn);
  }

  #matches(stored: Stored<unknown>): boolean {
    const { filters, where } = this.#plan;
    return filters.every((takes) => takes(stored)) && (where === null || where.matches(stored));
  }

  #unreadable({ topic, position: { partition, offset }, error, encoded }: Unreadable): void {
    this.#tally.unreadable(topic);
    const unreadable = this.#tally.total.unreadable;
    if (unreadable > UNREADABLE_SHOWN_MAX) return;
    const bytes = encoded === null ? '' : `; ${firstBytes(encoded)}`;
    const more = unreadable === UNREADABLE_SHOWN_MAX ? ' (further ones are only counted)' : '';
    const place = `${topic}@${partition}/${offset}`;
    this.#io.err(`skipped ${place}: ${visible(error.message)}${bytes}${more}`);
  }

  /** Says once per topic that the search takes long, or that its index is damaged. */
  #unindexed(topic: string): (stretch: Unindexed) => void {
    let warned = false;
    return ({ from, to, damaged }) => {
      if (warned || !(damaged || to - from > QUIET_MAX)) return;
      warned = true;
      const why = damaged ? 'the index by key is damaged' : 'there is no index by key';
      this.#io.err(
        `${topic}: reading ${records(to - from)} one by one, because ${why}; to rebuild it once the run has stopped: millrace doctor ${this.#run} --index`,
      );
    };
  }

  #printStats(): void {
    this.#io.err(this.#tally.lines(this.#io.clock.now()));
  }

  /** An empty screen does not show whether there was nothing, or nothing that matched. */
  #printNone(read: number): void {
    const { follow, to } = this.#plan.range;
    if (follow || this.#signal.aborted) return;
    const { only } = this.#plan.range;
    const nothing =
      only !== undefined
        ? `no record ${'keys' in only ? 'has this key' : 'is about it'}`
        : `no records${to === undefined ? '; -f waits for new ones' : ''}`;
    this.#io.err(read === 0 ? nothing : `none of ${records(read)} matches`);
  }

  #printEnd(): void {
    const { read, shown, unreadable } = this.#tally.total;
    if (this.#plan.statsMs !== null) this.#printStats();
    else if (shown + unreadable === 0) this.#printNone(read);
    if (unreadable > 0) this.#io.err(`could not read ${records(unreadable)}`);
    const { count, first } = this.#plan.where?.failures() ?? { count: 0, first: '' };
    if (count > 0) {
      this.#io.err(
        `--where failed on ${records(count)}, which do not count as matches; first at ${first}`,
      );
    }
  }
}

function records(count: number): string {
  return counted(count, 'record');
}

function firstBytes({ schema, body }: Encoded): string {
  const number = schema === null ? 'no schema' : `schema ${schema}`;
  const more = body.length > BYTES_SHOWN_MAX ? ' …' : '';
  const hex = [...body.subarray(0, BYTES_SHOWN_MAX)]
    .map((byte) => byte.toString(16).padStart(2, '0'))
    .join(' ');
  return `${number}, ${counted(body.length, 'byte')}: ${hex}${more}`;
}
