/**
 * The commits of one stage: what is finished in one turn is written together, several commits at once.
 *
 * What finishes while commits are under way goes with the next one, unless it fills a commit: then it goes at
 * once, and is encoded while the log still writes.
 */
import type { Delivery } from '../deliveries/delivery.ts';
import { writesOf } from '../deliveries/settlement.ts';
import type { Log } from '../log.ts';
import type { CommitOrder } from './commitOrder.ts';
import type { StageCounter } from './stageStats.ts';

/** How many finished families one commit takes, and how many commits may be under way. */
const COMMIT_MAX = 256;
const COMMITS_MAX = 8;

export interface QueueMeans {
  readonly log: Log;
  readonly counter: StageCounter;
  /** Decides when what is finished may be committed; without it, at once. */
  readonly commitOrder?: CommitOrder | undefined;
  /** A commit has ended. */
  changed(): void;
  failed(error: unknown): void;
}

interface Finished {
  readonly delivery: Delivery<unknown>;
  readonly roots: number;
}

export class CommitQueue {
  /** Commits so far. */
  commits = 0;
  /** Records whose families are finished and wait for `commitOrder`. */
  ordered = 0;
  readonly #stage: string;
  readonly #means: QueueMeans;
  readonly #due: Finished[] = [];
  readonly #committing = new Set<Promise<void>>();
  /** Set while commits that are due in this turn are still being gathered. */
  #gathering: Promise<void> | null = null;

  constructor(stage: string, means: QueueMeans) {
    this.#stage = stage;
    this.#means = means;
  }

  get busy(): boolean {
    return this.#gathering !== null || this.#committing.size > 0;
  }

  /** Resolves when nothing is due any more. */
  async done(): Promise<void> {
    while (this.busy) await Promise.all([this.#gathering, ...this.#committing]);
  }

  /** A family of `roots` records is finished. */
  add(delivery: Delivery<unknown>, roots: number): void {
    const { counter, commitOrder } = this.#means;
    counter.idle('finished', roots);
    this.ordered += roots;
    const due = (): void => {
      this.ordered -= roots;
      this.#push({ delivery, roots });
    };
    if (commitOrder === undefined) due();
    else commitOrder.ready(this.#stage, writesOf(delivery), due);
  }

  #push(finished: Finished): void {
    this.#due.push(finished);
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
        this.#means.changed();
      });
    }
  }

  /** Never rejects. */
  async #commit(batch: readonly Finished[]): Promise<void> {
    const { log, counter, commitOrder, failed } = this.#means;
    counter.committing(true);
    try {
      await log.commit((tx) => {
        for (const { delivery } of batch) tx.settle(delivery);
      });
      this.commits += 1;
      for (const { delivery } of batch) commitOrder?.committed(this.#stage, writesOf(delivery));
      for (const { roots } of batch) {
        counter.settled(roots);
        counter.idle('finished', -roots);
      }
    } catch (error) {
      this.#due.length = 0; // read again at the next start
      failed(error);
    } finally {
      counter.committing(false);
    }
  }
}
