/**
 * Reads the current state of a run, as often as called: only the newest records of its log, and what
 * processes report.
 */
import type { Clock } from '../base/index.ts';
import type { Log, Topic } from '../streams/index.ts';
import { topics } from '../topics/index.ts';
import type { RunFacts } from './facts/facts.ts';
import { type Live, liveOf } from './live.ts';
import { TokenMeter } from './tokenMeter.ts';
import { statusesIn, Workers } from './workers.ts';

/** Names that a step writes, and those of an evaluation that may follow it. */
const METRICS_LAST = 128;
/** How far back to look for the command that paused it: settings may have changed since. */
const CONTROLS_LAST = 256;

export class Watch {
  readonly #log: Log;
  readonly #run: string;
  readonly #workers: Workers;
  readonly #metrics = new Map<string, number>();
  #meter: TokenMeter | null = null;
  #damaged = false;

  /** Rates are over `windowMs`; without it, since the previous call. */
  constructor(log: Log, run: string, { windowMs = 0 } = {}) {
    this.#log = log;
    this.#run = run;
    this.#workers = new Workers(windowMs);
  }

  /** Follows the rollouts, until `stop`, to know how many tokens are generated. */
  follow(nowMs: number): void {
    this.#meter = new TokenMeter();
    this.#meter.start(this.#log, nowMs);
  }

  /** Rates are since the previous call; on the first, since each process started. */
  async look(facts: RunFacts, clock: Clock): Promise<Live> {
    const policy = await this.#last(topics.weights, 1);
    for (const { name, value } of await this.#last(topics.metrics, METRICS_LAST)) {
      this.#metrics.set(name, value);
    }
    const said = await statusesIn((await this.#log.posted?.()) ?? []);
    const nowMs = clock.now();
    return liveOf({
      run: this.#run,
      facts,
      nowMs,
      workers: this.#workers.update(said),
      topics: await this.#log.stats(),
      policy: policy.at(-1) ?? null,
      metrics: this.#metrics,
      generating: this.#meter?.perSecond(nowMs) ?? null,
      paused: await this.#isPaused(),
      damaged: this.#damaged,
    });
  }

  stop(): void {
    this.#meter?.stop();
  }

  /** According to its last command. */
  async #isPaused(): Promise<boolean> {
    const commands = await this.#last(topics.control, CONTROLS_LAST);
    return commands.findLast(({ kind }) => kind === 'pause' || kind === 'resume')?.kind === 'pause';
  }

  async #last<T>(topic: Topic<T>, count: number): Promise<readonly T[]> {
    const values: T[] = [];
    const options = {
      from: { kind: 'last', count },
      follow: false,
      unreadable: () => {
        this.#damaged = true;
      },
    } as const;
    await this.#log.tap(topic, options).forEach(({ value }) => void values.push(value));
    return values;
  }
}
