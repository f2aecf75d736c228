/**
 * Runs a flow until it is quiescent, stopped or broken.
 *
 * Quiescent = the sources are done, every stage has settled all of its topic, and nothing moves. Open groups
 * that can no longer be completed are flushed first, upstream before downstream; so is what an RxJS operator
 * between the primitives still holds (a `delay` ends, a lost record is found). Stopped = the
 * signal aborted: reading ends at once, what is in flight may end within `graceMs`, what was finished is
 * committed, and the rest will be read again. Broken = a part failed: its error, with its name.
 *
 * Stages that other processes run (`elsewhere`) count too: they must have settled all that they read. Their
 * open groups are theirs to flush, so while one of those waits the flow is not quiescent.
 */
import { setMaxListeners } from 'node:events';
import {
  type Clock,
  every,
  later,
  MillraceError,
  systemClock,
  thrownBy,
} from '../../base/index.ts';
import { neverStopping } from '../deliveries/stopping.ts';
import type { Flow } from '../flow.ts';
import type { Log } from '../log.ts';
import type { Stage } from '../stage.ts';
import type { CommitOrder } from './commitOrder.ts';
import { SourceRunner, type SourceStats } from './sourceRunner.ts';
import { StageRunner } from './stageRunner.ts';
import type { StageStats } from './stageStats.ts';

/** The sources and stages of a running flow at `atMs` (milliseconds since 1970, by the run's clock). */
export interface FlowStats {
  readonly atMs: number;
  readonly sources: readonly SourceStats[];
  readonly stages: readonly StageStats[];
}

/** The log that a flow runs on, and when and how it stops. */
export interface RunOptions {
  readonly log: Log;
  /** Aborts = stop in order. */
  readonly signal?: AbortSignal;
  readonly clock?: Clock;
  /** How long work in flight may take to end after the signal; 5,000 by default. */
  readonly graceMs?: number;
  /** Wait for more input when quiescent: other processes may write it. */
  readonly forever?: boolean;
  /**
   * Stages that other processes run, if this one has all sources and so can tell when the whole has ended.
   */
  readonly elsewhere?: readonly Stage[];
  /** Called every `statsMs` (250 by default), and once at the end. */
  readonly onStats?: (stats: FlowStats) => void;
  readonly statsMs?: number;
  /** Decides when what is finished may be committed; without it, at once. */
  readonly commitOrder?: CommitOrder;
}

/** Why a run ended without an error: nothing is left to do, or `signal` was aborted. */
export type FlowEnd = 'quiescent' | 'stopped';

/** Look again this often: another process may have settled or appended. */
const LOOK_MS = 200;

/** Rejects with code `STAGE` or `SOURCE` when a part fails. The log stays open. */
export async function runFlow(flow: Flow, options: RunOptions): Promise<FlowEnd> {
  const disconnects: (() => void)[] = [];
  const run = new FlowRun(flow, options);
  try {
    for (const loop of flow.feedbacks) disconnects.push(await loop.connect(options.log));
    return await run.toEnd();
  } finally {
    for (const disconnect of disconnects) disconnect();
    options.onStats?.(run.stats());
  }
}

class FlowRun {
  readonly #log: Log;
  readonly #options: RunOptions;
  readonly #clock: Clock;
  readonly #stages: readonly StageRunner[];
  readonly #sources: readonly SourceRunner[];
  readonly #stopSources = new AbortController();
  #failure: MillraceError | null = null;
  /** Wake those that wait for a change. */
  #wakers: (() => void)[] = [];

  constructor(flow: Flow, options: RunOptions) {
    this.#log = options.log;
    this.#options = options;
    this.#clock = options.clock ?? systemClock;
    const hooks = {
      changed: () => this.#wake(),
      failed: (error: MillraceError) => {
        this.#failure ??= error;
        this.#wake();
      },
    };
    const { commitOrder, signal: stopping = neverStopping } = options;
    // Every call of every stage may listen to it; Node would take that for a leak.
    setMaxListeners(0, stopping);
    const means = { log: this.#log, clock: this.#clock, hooks, commitOrder, stopping };
    this.#stages = flow.stages.map((stage) => new StageRunner(stage, means));
    this.#sources = flow.sources.map(
      (source) =>
        new SourceRunner(source, this.#log, this.#clock, () =>
          this.#roomFor(source.to.name, source.leadMax),
        ),
    );
  }

  stats(): FlowStats {
    return {
      atMs: this.#clock.now(),
      sources: this.#sources.map((source) => source.stats()),
      stages: this.#stages.map((stage) => stage.stats()),
    };
  }

  async toEnd(): Promise<FlowEnd> {
    const { signal, onStats, statsMs = 250 } = this.#options;
    const wake = (): void => this.#wake();
    const endLooking = every(this.#clock, LOOK_MS, () => {
      for (const stage of this.#stages) stage.look();
      wake();
    });
    const endTelling = onStats && every(this.#clock, statsMs, () => onStats(this.stats()));
    signal?.addEventListener('abort', wake);
    const ingesting = this.#sources.map((source) => this.#ingest(source));
    try {
      for (const stage of this.#stages) stage.start();
      const end = await this.#untilEnd();
      this.#stopSources.abort();
      await Promise.all(ingesting);
      if (end === 'stopped') await this.#settleDown();
      if (this.#failure !== null) throw this.#failure;
      return end;
    } finally {
      this.#stopSources.abort();
      for (const stage of this.#stages) stage.abandon();
      await Promise.all(this.#stages.map((stage) => stage.committed()));
      await Promise.all(ingesting);
      signal?.removeEventListener('abort', wake);
      endLooking();
      endTelling?.();
    }
  }

  async #untilEnd(): Promise<FlowEnd> {
    for (;;) {
      if (this.#failure !== null) throw this.#failure;
      if (this.#options.signal?.aborted) return 'stopped';
      const changed = this.#changed();
      // Checking takes a moment, in which a stage may have started to move again.
      if (this.#options.forever !== true && (await this.#exhausted()) && this.#quiet()) {
        const unfinished = this.#stages.find(
          (stage) => (stage.waiting > 0 || stage.strays > 0) && stage.ordered === 0,
        );
        // An operator in a loop may still emit something that leads to more: only time can tell.
        if (this.#stages.some((stage) => stage.strays > 0 && this.#isLoop(stage))) await changed;
        else if (unfinished !== undefined) void unfinished.finish();
        else if (this.#stages.every((stage) => stage.ordered === 0)) return 'quiescent';
        else if (!(await this.#options.commitOrder?.moved())) return 'stopped';
      }
      await changed;
    }
  }

  /** Whether what a stage writes comes back to it as input, through other stages. */
  #isLoop({ stage }: StageRunner): boolean {
    const stages = [...this.#stages.map((runner) => runner.stage), ...this.#elsewhere];
    const reached = new Set<string | undefined>([stage.to?.name]);
    for (let before = -1; before < reached.size; ) {
      before = reached.size;
      for (const { from, to } of stages) if (reached.has(from.name)) reached.add(to?.name);
    }
    return reached.has(stage.from.name);
  }

  /**
   * Sources done, and every stage has nothing left but open groups, what waits for its turn, and what RxJS
   * operators hold.
   */
  async #exhausted(): Promise<boolean> {
    if (!this.#sources.every((source) => source.done)) return false;
    if (!this.#quiet()) return false;
    const commits = this.#commits();
    const written = await this.#written();
    for (const runner of this.#stages) {
      const { stage } = runner;
      if ((await this.#log.lag(stage.from, stage.name)) !== runner.inflight) return false;
    }
    for (const { from, name } of this.#elsewhere) {
      if ((await this.#log.lag(from, name)) !== 0) return false;
    }
    // Each has settled everything at some time since, and nothing was written in between.
    return this.#quiet() && commits === this.#commits() && written === (await this.#written());
  }

  /** Records of all topics together, where others write too. */
  async #written(): Promise<number> {
    if (this.#elsewhere.length === 0) return 0;
    return (await this.#log.stats()).reduce((sum, { records }) => sum + records, 0);
  }

  get #elsewhere(): readonly Stage[] {
    return this.#options.elsewhere ?? [];
  }

  #quiet(): boolean {
    return this.#stages.every((stage) => stage.quiet);
  }

  #still(): boolean {
    return this.#stages.every((stage) => stage.still);
  }

  #commits(): number {
    return this.#stages.reduce((sum, stage) => sum + stage.commits, 0);
  }

  /** After a stop: waits for what is in flight, at most `graceMs`. */
  async #settleDown(): Promise<void> {
    for (const stage of this.#stages) stage.stop();
    let late = false;
    const inTime = later(this.#clock, this.#options.graceMs ?? 5000, () => {
      late = true;
      this.#wake();
    });
    while (!late && !this.#still() && this.#failure === null) await this.#changed();
    inTime();
  }

  async #ingest(runner: SourceRunner): Promise<void> {
    const { name } = runner.source;
    try {
      await runner.run(this.#stopSources.signal);
    } catch (cause) {
      this.#failure ??= new MillraceError('SOURCE', `source ${name} failed: ${thrownBy(cause)}`, {
        context: { source: name },
        cause,
      });
    }
    this.#wake();
  }

  /**
   * A reader that gathers more than `leadMax` records settles none before it has them all: it gets as many as
   * it may hold.
   */
  async #roomFor(topic: string, leadMax: number): Promise<void> {
    const stages = [...this.#stages.map(({ stage }) => stage), ...this.#elsewhere];
    const readers = stages.filter(({ from }) => from.name === topic);
    const hasRoom = async ({ from, name, inflightMax }: Stage): Promise<boolean> =>
      (await this.#log.lag(from, name)) < Math.max(leadMax, inflightMax);
    while (!this.#stopSources.signal.aborted) {
      const changed = this.#changed();
      if ((await Promise.all(readers.map(hasRoom))).every(Boolean)) return;
      await changed;
    }
  }

  #changed(): Promise<void> {
    return new Promise((resolve) => this.#wakers.push(resolve));
  }

  #wake(): void {
    const wakers = this.#wakers;
    this.#wakers = [];
    for (const wake of wakers) wake();
  }
}
