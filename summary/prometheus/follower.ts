/**
 * Follows the topics of a run that are counted for Prometheus. Settles nothing; stops following a topic that
 * cannot be read.
 */
import { Subscription } from 'rxjs';
import type { From, Log, Stored, Topic } from '../../streams/index.ts';
import { topics } from '../../topics/index.ts';
import { Tallies } from './tallies.ts';

/** Names that a step writes, and those of an evaluation that may follow it. */
const METRICS_LAST = 200;

export class Follower {
  readonly tallies = new Tallies();
  readonly #following = new Map<string, boolean>();
  readonly #subscription = new Subscription();

  /** Counts what is written from now on; for metrics and weights also reads the newest ones. */
  constructor(log: Log, nowMs: number) {
    const { tallies } = this;
    const now = { kind: 'latest' } as const;
    this.#follow(log, topics.rollouts, now, ({ value }) => tallies.rollout(value));
    this.#follow(log, topics.toolCalls, now, ({ value }) => tallies.toolCall(value));
    this.#follow(log, topics.selected, now, ({ value }) => tallies.selected(value));
    this.#follow(log, topics.metrics, { kind: 'last', count: METRICS_LAST }, ({ value, atMs }) =>
      tallies.metric(value, atMs >= nowMs),
    );
    this.#follow(log, topics.weights, { kind: 'last', count: 1 }, ({ value, atMs }) =>
      tallies.weights(value, atMs),
    );
  }

  /** By topic; false once it could not be read any more. */
  get following(): ReadonlyMap<string, boolean> {
    return this.#following;
  }

  stop(): void {
    this.#subscription.unsubscribe();
  }

  #follow<T>(log: Log, topic: Topic<T>, from: From, next: (stored: Stored<T>) => void): void {
    this.#following.set(topic.name, true);
    const error = (): void => void this.#following.set(topic.name, false);
    this.#subscription.add(
      log
        .tap(topic, { from, follow: true, unreadable: () => undefined })
        .subscribe({ next, error }),
    );
  }
}
