/**
 * What a stage has done and where its time went.
 */
import type { Clock } from '../../base/index.ts';
import type { Stage } from '../stage.ts';

/** What a stage has done since its process started. Counts are of records; times are in milliseconds. */
export interface StageStats {
  readonly name: string;
  readonly from: string;
  /** '' if it writes to no topic. */
  readonly to: string;
  /** Records read, deliveries that left the operator, and records settled. */
  readonly in: number;
  readonly out: number;
  readonly settled: number;
  /** Read and not yet settled, and how many of these wait in open groups. */
  readonly inflight: number;
  readonly inflightMax: number;
  readonly waiting: number;
  /**
   * How long the oldest record outside an open group has been in flight; grows forever if a function or an
   * operator never ends. 0 if there is none.
   */
  readonly oldestMs: number;
  /**
   * Time with nothing in flight except in open groups (the stage waits for its input), with inflightMax in
   * flight (its input waits for the stage), and everything in between. Together they are the time since it
   * started.
   */
  readonly idleMs: number;
  readonly fullMs: number;
  readonly busyMs: number;
  /**
   * Of the time with records in flight: the part in which all are finished and wait for the log, and the part
   * in which all unfinished ones wait for the run's pace (`Scope.paced`).
   */
  readonly blockedMs: number;
  readonly pacedMs: number;
  /** Time with a commit under way, for which finished records wait. */
  readonly commitMs: number;
}

/** What the counter cannot count itself. */
export interface StageGauges {
  /** Records that wait in open groups. */
  waiting(): number;
  oldestMs(nowMs: number): number;
}

/** Why a record in flight is not being worked on. */
export type Idle = 'finished' | 'paced';

export class StageCounter {
  readonly #stage: Stage;
  readonly #clock: Clock;
  readonly #gauges: StageGauges;
  #in = 0;
  #out = 0;
  #settled = 0;
  #idleMs = 0;
  #fullMs = 0;
  #busyMs = 0;
  #blockedMs = 0;
  #pacedMs = 0;
  readonly #idle: Record<Idle, number> = { finished: 0, paced: 0 };
  #commitMs = 0;
  /** Commits under way. */
  #committing = 0;
  #sinceMs: number;

  constructor(stage: Stage, clock: Clock, gauges: StageGauges) {
    this.#stage = stage;
    this.#clock = clock;
    this.#gauges = gauges;
    this.#sinceMs = clock.now();
  }

  get inflight(): number {
    return this.#in - this.#settled;
  }

  /** Returns the time. */
  entered(): number {
    const nowMs = this.#account();
    this.#in += 1;
    return nowMs;
  }

  left(): void {
    this.#out += 1;
  }

  settled(roots: number): void {
    this.#account();
    this.#settled += roots;
  }

  /** Nothing is in flight any more: the operator starts over. */
  startedOver(): void {
    this.settled(this.inflight);
    this.#idle.finished = 0;
    this.#idle.paced = 0;
  }

  /** This many more records in flight are finished, or wait for the pace; fewer if negative. */
  idle(kind: Idle, records: number): void {
    this.#account();
    this.#idle[kind] += records;
  }

  /** One more commit is under way, or one fewer. */
  committing(begins: boolean): void {
    this.#account();
    this.#committing += begins ? 1 : -1;
  }

  stats(): StageStats {
    const nowMs = this.#account();
    const { name, from, to, inflightMax } = this.#stage;
    return {
      name,
      from: from.name,
      to: to?.name ?? '',
      in: this.#in,
      out: this.#out,
      settled: this.#settled,
      inflight: this.inflight,
      inflightMax,
      waiting: this.#gauges.waiting(),
      oldestMs: this.#gauges.oldestMs(nowMs),
      idleMs: this.#idleMs,
      fullMs: this.#fullMs,
      busyMs: this.#busyMs,
      blockedMs: this.#blockedMs,
      pacedMs: this.#pacedMs,
      commitMs: this.#commitMs,
    };
  }

  /** Books the time since the last change under the state in which it was spent. */
  #account(): number {
    const now = this.#clock.now();
    const spent = now - this.#sinceMs;
    this.#sinceMs = now;
    if (this.#committing > 0) this.#commitMs += spent;
    const inWork = this.inflight - this.#gauges.waiting();
    const { finished, paced } = this.#idle;
    if (inWork === 0) this.#idleMs += spent;
    else if (this.inflight >= this.#stage.inflightMax) this.#fullMs += spent;
    else this.#busyMs += spent;
    if (inWork > 0 && inWork <= finished) this.#blockedMs += spent;
    else if (inWork > 0 && inWork <= finished + paced) this.#pacedMs += spent;
    return now;
  }
}
