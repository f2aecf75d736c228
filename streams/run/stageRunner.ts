/**
 * Runs one stage: reads, lets the operator work, and commits what leaves it.
 *
 * What becomes due while commits are on their way goes with the next one, unless it fills a commit: then it
 * goes at once, and is encoded while the log still writes. Three ways to end: `finish` completes the
 * operator's input (no more will ever come, open groups are flushed), `stop` only stops feeding it (what is
 * in flight may end), `abandon` drops it where it is.
 */
import { Observable, Subscriber, Subscription } from 'rxjs';
import { type Clock, MillraceError, thrownBy } from '../../base/index.ts';
import type { Delivery } from '../deliveries/delivery.ts';
import {
  adopt,
  type DeliveryOwner,
  emit,
  isDelivery,
  ownerOf,
  placeOf,
  type Root,
  WaitingRecords,
  writesOf,
} from '../deliveries/settlement.ts';
import type { Log } from '../log.ts';
import type { Stage } from '../stage.ts';
import type { CommitOrder } from './commitOrder.ts';
import { InFlight } from './inFlight.ts';
import { endedEarly, foreignDelivery, lostRecords, notADelivery } from './operatorErrors.ts';
import { StageCounter, type StageStats } from './stageStats.ts';

export interface StageHooks {
  /** Something was read, committed or ended. */
  changed(): void;
  /** The stage is dead. */
  failed(error: MillraceError): void;
}

/** What a stage runs on. */
export interface StageMeans {
  readonly log: Log;
  readonly clock: Clock;
  readonly hooks: StageHooks;
  /** Decides when what is finished may be committed; without it, at once. */
  readonly commitOrder?: CommitOrder | undefined;
  /** Aborted when the run is to stop. */
  readonly stopping: AbortSignal;
}

/** Finished families that one commit takes at most, and how many commits may be on their way. */
const COMMIT_MAX = 256;
const COMMITS_MAX = 8;

interface Due {
  readonly delivery: Delivery<unknown>;
  readonly roots: number;
}

export class StageRunner {
  readonly stage: Stage;
  readonly #log: Log;
  readonly #hooks: StageHooks;
  readonly #counter: StageCounter;
  readonly #clock: Clock;
  #owner: DeliveryOwner;
  #inFlight = new InFlight();
  /** The record that is being handed to the operator. */
  #entering: Root | null = null;
  readonly #commitOrder: CommitOrder | null;
  readonly #stopping: AbortSignal;
  readonly #due: Due[] = [];
  readonly #committing = new Set<Promise<void>>();
  /** Set while what becomes due in this turn is still gathered. */
  #gathering: Promise<void> | null = null;
  #input: Subscriber<Delivery<unknown>> | null = null;
  #reading = Subscription.EMPTY;
  #pipeline = Subscription.EMPTY;
  /** Set while the input has been completed and the operator has not. */
  #finished: (() => void) | null = null;
  #finishing = false;
  #restarting = false;
  #abandoned = false;
  /** Commits so far. */
  commits = 0;
  /** Records whose families are finished and wait for `commitOrder`. */
  ordered = 0;

  constructor(stage: Stage, { log, clock, hooks, commitOrder, stopping }: StageMeans) {
    this.stage = stage;
    this.#log = log;
    this.#hooks = hooks;
    this.#commitOrder = commitOrder ?? null;
    this.#stopping = stopping;
    this.#clock = clock;
    this.#counter = new StageCounter(stage, clock, {
      waiting: () => this.waiting,
      oldestMs: (nowMs) => this.#inFlight.oldestMs(nowMs),
    });
    this.#owner = this.#newOwner();
  }

  /** Deliveries that wait in open groups. */
  get waiting(): number {
    return this.#owner.waiting.total;
  }

  /** Nothing moves: all that is in flight waits in open groups, or for its turn. */
  get still(): boolean {
    const { inflight } = this.#counter;
    return !this.#busy && !this.#finishing && inflight === this.waiting + this.ordered;
  }

  /**
   * Nothing moves but what the operator may hold for itself: no function works. What then is in flight and does not wait
   * lies in an RxJS operator between the primitives, or is lost.
   */
  get quiet(): boolean {
    return this.still || !(this.#busy || this.#finishing || this.#inFlight.works);
  }

  /** Records read and not settled. */
  get inflight(): number {
    return this.#counter.inflight;
  }

  /** Records that no primitive has in its charge, though no commit settles them. */
  get strays(): number {
    return this.still ? 0 : this.#inFlight.strays.length;
  }

  /** To be called now and then: fails the stage when it has lost records. */
  look(): void {
    if (this.#abandoned || this.#restarting) return;
    const lost = this.#inFlight.lost(this.#clock.now());
    if (lost.length > 0) this.#fail(lostRecords(lost));
  }

  stats(): StageStats {
    return this.#counter.stats();
  }

  start(): void {
    const input$ = new Observable<Delivery<unknown>>((subscriber) => {
      this.#input = subscriber;
      return this.#read(subscriber);
    });
    const output = new Subscriber<unknown>({
      next: (value) => this.#leave(value),
      error: (error: unknown) => this.#fail(error),
      complete: () => this.#ended(),
    });
    this.#pipeline = output; // before the first emission, which may come at once and be the last
    try {
      input$.pipe(this.stage.run).subscribe(output);
    } catch (error) {
      this.#fail(error);
    }
  }

  /** What leaves the operator: a delivery, if the operator keeps the rules. */
  #leave(value: unknown): void {
    try {
      if (!isDelivery(value)) {
        const entering = this.#entering === null ? undefined : placeOf(this.#entering);
        throw notADelivery(value, entering ?? this.#inFlight.strays[0]);
      }
      if (ownerOf(value) !== this.#owner) throw foreignDelivery(placeOf(value));
      emit(value, this.stage.to);
      this.#counter.left();
    } catch (error) {
      this.#fail(error);
    }
  }

  /** Feed no more. What is in flight goes on. */
  stop(): void {
    this.#reading.unsubscribe();
  }

  /** Complete the input, wait for what the operator still emits, and start over. Never rejects. */
  async finish(): Promise<void> {
    const ended = new Promise<void>((resolve) => {
      this.#finished = resolve;
    });
    this.#finishing = true;
    this.stop();
    this.#input?.complete();
    await ended;
    await this.committed();
    this.#finishing = false;
    if (this.#abandoned) return;
    const { inflight } = this.#counter;
    if (inflight === 0) this.start();
    else {
      this.#fail(lostRecords(this.#inFlight.strays));
    }
    this.#hooks.changed();
  }

  /** Drop the operator where it is. Commits that are due still happen. */
  abandon(): void {
    this.#abandoned = true;
    this.#pipeline.unsubscribe();
    this.stop();
    this.#finished?.();
  }

  /** Resolves when nothing is due any more. */
  async committed(): Promise<void> {
    while (this.#busy) await Promise.all([this.#gathering, ...this.#committing]);
  }

  get #busy(): boolean {
    return this.#gathering !== null || this.#committing.size > 0;
  }

  #read(subscriber: Subscriber<Delivery<unknown>>): Subscription {
    const { from, name, inflightMax } = this.stage;
    this.#reading = new Subscription();
    const revoked = (): void => void this.#restart();
    this.#reading.add(
      this.#log.read(from, { group: name, inflightMax, revoked }).subscribe({
        next: (delivery) => {
          this.#entering = adopt(delivery, this.#owner);
          this.#inFlight.add(this.#entering, this.#counter.entered());
          subscriber.next(delivery);
          this.#entering = null;
          if (this.still) this.#hooks.changed();
        },
        error: (error) => subscriber.error(error),
      }),
    );
    return this.#reading;
  }

  /**
   * Members of open groups went to another process, which gathers these groups from the start: an operator that
   * went on holding them would mix them with what may come again. So it starts over too.
   */
  async #restart(): Promise<void> {
    if (this.waiting === 0 || this.#restarting || this.#finishing) return;
    this.#restarting = true;
    this.#pipeline.unsubscribe();
    this.stop();
    await this.committed();
    this.#restarting = false;
    if (this.#abandoned) return;
    this.#owner = this.#newOwner();
    this.#inFlight = new InFlight();
    this.#counter.startedOver();
    this.start();
    this.#hooks.changed();
  }

  /** Collects what is due; for an operator that was left behind it collects nothing any more. */
  #newOwner(): DeliveryOwner {
    const owner: DeliveryOwner = {
      inflightMax: this.stage.inflightMax,
      waiting: new WaitingRecords(),
      stopping: this.#stopping,
      paced: (records) => {
        if (owner === this.#owner) this.#counter.idle('paced', records);
      },
      ready: (delivery, roots) => {
        if (owner !== this.#owner) return;
        this.#counter.idle('finished', roots);
        if (this.#commitOrder === null) return this.#push(delivery, roots);
        this.ordered += roots;
        this.#commitOrder.ready(this.stage.name, writesOf(delivery), () => {
          this.ordered -= roots;
          this.#push(delivery, roots);
        });
      },
    };
    return owner;
  }

  #push(delivery: Delivery<unknown>, roots: number): void {
    this.#due.push({ delivery, roots });
    this.#gathering ??= Promise.resolve().then(() => {
      this.#gathering = null;
      this.#commitDue();
    });
  }

  #commitDue(): void {
    while (this.#due.length > 0 && this.#committing.size < COMMITS_MAX) {
      if (this.#due.length < COMMIT_MAX && this.#committing.size > 0) return;
      const commit = this.#commit(this.#due.splice(0, COMMIT_MAX));
      this.#committing.add(commit);
      void commit.then(() => {
        this.#committing.delete(commit);
        this.#commitDue();
        this.#hooks.changed();
      });
    }
  }

  /** Never rejects. */
  async #commit(batch: readonly Due[]): Promise<void> {
    this.#counter.committing(true);
    try {
      await this.#log.commit((tx) => {
        for (const { delivery } of batch) tx.settle(delivery);
      });
      this.commits += 1;
      for (const { delivery } of batch)
        this.#commitOrder?.committed(this.stage.name, writesOf(delivery));
      for (const { roots } of batch) {
        this.#counter.settled(roots);
        this.#counter.idle('finished', -roots);
      }
    } catch (error) {
      this.#due.length = 0; // read again at the next start
      this.#fail(error);
    } finally {
      this.#counter.committing(false);
    }
  }

  #ended(): void {
    if (this.#finished !== null) {
      this.#finished();
      this.#finished = null;
      return;
    }
    this.#fail(endedEarly());
  }

  #fail(cause: unknown): void {
    this.abandon();
    const { name } = this.stage;
    this.#hooks.failed(
      new MillraceError('STAGE', `stage ${name} failed: ${thrownBy(cause)}`, {
        context: { stage: name },
        cause,
      }),
    );
  }
}
