/**
 * Runs one stage: reads, lets the operator work, and commits what leaves it.
 *
 *     running ── finish ──► finishing ──► running     its input completes, open groups are flushed, it starts over
 *     running ── revoked ─► restarting ─► running     its open groups are gathered elsewhere: it starts over without them
 *     any ── abandon, or a failure ──► abandoned      it is dropped where it is; commits that are due still happen
 *
 * `stop` changes no state: the stage is fed no more, and what is in flight may end.
 */
import { Observable, Subscriber, Subscription } from 'rxjs';
import { type Clock, MillraceError, thrownBy } from '../../base/index.ts';
import type { Delivery } from '../deliveries/delivery.ts';
import { type DeliveryOwner, type Root, WaitingRecords } from '../deliveries/family.ts';
import { adopt, emit, isDelivery, ownerOf, placeOf } from '../deliveries/settlement.ts';
import type { Log } from '../log.ts';
import type { Stage } from '../stage.ts';
import type { CommitOrder } from './commitOrder.ts';
import { CommitQueue } from './commitQueue.ts';
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

type State = 'running' | 'finishing' | 'restarting' | 'abandoned';

export class StageRunner {
  readonly stage: Stage;
  readonly #means: StageMeans;
  readonly #counter: StageCounter;
  readonly #commits: CommitQueue;
  #state: State = 'running';
  #stopped = false;
  #owner: DeliveryOwner;
  #inFlight = new InFlight();
  /** The record that is being handed to the operator. */
  #entering: Root | null = null;
  #input: Subscriber<Delivery<unknown>> | null = null;
  #reading = Subscription.EMPTY;
  #pipeline = Subscription.EMPTY;
  /** Called when the operator has completed, or never will. */
  #completed = (): void => undefined;

  constructor(stage: Stage, means: StageMeans) {
    const { log, clock, hooks, commitOrder } = means;
    this.stage = stage;
    this.#means = means;
    this.#counter = new StageCounter(stage, clock, {
      waiting: () => this.waiting,
      oldestMs: (nowMs) => this.#inFlight.oldestMs(nowMs),
    });
    this.#commits = new CommitQueue(stage.name, {
      log,
      counter: this.#counter,
      commitOrder,
      changed: () => hooks.changed(),
      failed: (error) => this.#fail(error),
    });
    this.#owner = this.#newOwner();
  }

  /** Deliveries that wait in open groups. */
  get waiting(): number {
    return this.#owner.waiting.total;
  }

  /** Commits so far. */
  get commits(): number {
    return this.#commits.commits;
  }

  /** Records that are finished and wait for `commitOrder`. */
  get ordered(): number {
    return this.#commits.ordered;
  }

  /** Records read and not settled. */
  get inflight(): number {
    return this.#counter.inflight;
  }

  /** Records that no primitive holds, though no commit settles them. */
  get strays(): number {
    return this.still ? 0 : this.#inFlight.strays.length;
  }

  /** Nothing moves: everything in flight waits in open groups, or for its turn. */
  get still(): boolean {
    return !this.#moves && this.inflight === this.waiting + this.ordered;
  }

  /**
   * Nothing moves, except what the operator itself may hold: no function works. Whatever is in flight then
   * and does not wait is in an RxJS operator between the primitives, or lost.
   */
  get quiet(): boolean {
    return this.still || !(this.#moves || this.#inFlight.works);
  }

  get #moves(): boolean {
    return this.#commits.busy || this.#state === 'finishing' || this.#state === 'restarting';
  }

  stats(): StageStats {
    return this.#counter.stats();
  }

  /** To be called periodically: fails the stage if it has lost records. */
  look(): void {
    if (this.#state === 'abandoned' || this.#state === 'restarting') return;
    const lost = this.#inFlight.lost(this.#means.clock.now());
    if (lost.length > 0) this.#fail(lostRecords(lost));
  }

  start(): void {
    this.#state = 'running';
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

  /** Feeds no more. What is in flight goes on. */
  stop(): void {
    this.#stopped = true;
    this.#reading.unsubscribe();
  }

  /** Completes the input, waits for what the operator still emits, and starts over. Never rejects. */
  async finish(): Promise<void> {
    if (this.#state !== 'running') return;
    this.#state = 'finishing';
    const completed = new Promise<void>((resolve) => {
      this.#completed = resolve;
    });
    this.#reading.unsubscribe();
    this.#input?.complete();
    await completed;
    await this.committed();
    if (this.#state !== 'finishing') return;
    if (this.inflight === 0) this.start();
    else this.#fail(lostRecords(this.#inFlight.strays));
    this.#means.hooks.changed();
  }

  /**
   * Members of open groups went to another process, which gathers these groups from the start: an operator
   * that went on holding them would mix them with what may come again. So it starts over too.
   */
  async #restart(): Promise<void> {
    if (this.#state !== 'running' || this.waiting === 0) return;
    this.#state = 'restarting';
    this.#pipeline.unsubscribe();
    this.#reading.unsubscribe();
    await this.committed();
    if (this.#state !== 'restarting') return;
    this.#owner = this.#newOwner();
    this.#inFlight = new InFlight();
    this.#counter.startedOver();
    this.start();
    this.#means.hooks.changed();
  }

  /** Drops the operator where it is. Commits that are due still happen. */
  abandon(): void {
    this.#state = 'abandoned';
    this.#pipeline.unsubscribe();
    this.stop();
    this.#completed();
  }

  /** Resolves when nothing is due any more. */
  committed(): Promise<void> {
    return this.#commits.done();
  }

  #read(subscriber: Subscriber<Delivery<unknown>>): Subscription {
    const { from, name, inflightMax } = this.stage;
    this.#reading = new Subscription();
    if (this.#stopped) return this.#reading;
    const revoked = (): void => void this.#restart();
    this.#reading.add(
      this.#means.log.read(from, { group: name, inflightMax, revoked }).subscribe({
        next: (delivery) => {
          this.#entering = adopt(delivery, this.#owner);
          this.#inFlight.add(this.#entering, this.#counter.entered());
          subscriber.next(delivery);
          this.#entering = null;
          if (this.still) this.#means.hooks.changed();
        },
        error: (error) => subscriber.error(error),
      }),
    );
    return this.#reading;
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

  /** Collects what is finished; an abandoned operator collects nothing any more. */
  #newOwner(): DeliveryOwner {
    const owner: DeliveryOwner = {
      inflightMax: this.stage.inflightMax,
      waiting: new WaitingRecords(),
      stopping: this.#means.stopping,
      paced: (records) => {
        if (owner === this.#owner) this.#counter.idle('paced', records);
      },
      ready: (delivery, roots) => {
        if (owner === this.#owner) this.#commits.add(delivery, roots);
      },
    };
    return owner;
  }

  #ended(): void {
    if (this.#state === 'finishing') this.#completed();
    else this.#fail(endedEarly());
  }

  #fail(cause: unknown): void {
    this.abandon();
    const { name } = this.stage;
    this.#means.hooks.failed(
      new MillraceError('STAGE', `stage ${name} failed: ${thrownBy(cause)}`, {
        context: { stage: name },
        cause,
      }),
    );
  }
}
