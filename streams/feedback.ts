/**
 * Feedback: the way back in a graph that has a loop (prices back to those who quote them).
 *
 * Made in two steps. `feedback(topic)` gives the handle before the graph exists: operators take its
 * `values$` or `latest()`. The graph then ends in a sink whose `to` is the handle. What it shows is what
 * is committed in the topic: at first the last record there (or, with `history: 'all'`, every
 * one), then each new one. A record that does not decode is skipped.
 */
import { firstValueFrom, type Observable, ReplaySubject, toArray } from 'rxjs';
import type { MillraceError } from '../base/index.ts';
import { isUnreadable } from './deliveries/deadLetter.ts';
import type { From, Log, TapOptions } from './log.ts';
import type { Topic } from './topic.ts';

/**
 * A handle on the newest records of a topic, shared by the sink that writes them and the operators that use
 * them.
 */
export interface Feedback<T> {
  readonly kind: 'feedback';
  readonly topic: Topic<T>;
  /** The newest record, then each new one. A late subscriber begins with the newest. */
  readonly values$: Observable<T>;
  /** The newest record; undefined while there is none. */
  latest(): T | undefined;
  /** For `runFlow`: follow the topic in this log. Resolves once everything now in it has been read. */
  connect(log: Log): Promise<() => void>;
}

export interface FeedbackOptions {
  /**
   * What `values$` begins with; `all` holds every record of the topic in memory, so only for small topics.
   */
  readonly history?: 'last' | 'all';
}

/** A handle on the records of `topic`, to be bound as the `to` of a sink. */
export function feedback<T>(
  topic: Topic<T>,
  { history = 'last' }: FeedbackOptions = {},
): Feedback<T> {
  const values = history === 'all' ? new ReplaySubject<T>() : new ReplaySubject<T>(1);
  let newest: T | undefined;
  const show = (value: T): void => {
    newest = value;
    values.next(value);
  };
  return {
    kind: 'feedback',
    topic,
    values$: values.asObservable(),
    latest: () => newest,
    async connect(log) {
      const from: From = history === 'all' ? { kind: 'earliest' } : { kind: 'last', count: 1 };
      const known$ = log.tap(topic, { from, follow: false, unreadable });
      const known = await firstValueFrom(known$.pipe(toArray()));
      for (const { value } of known) show(value);
      const offset = (known.at(-1)?.position.offset ?? -1) + 1;
      const following = log
        .tap(topic, { from: { kind: 'offset', offset }, follow: true, unreadable })
        .subscribe({ next: ({ value }) => show(value), error: (error) => values.error(error) });
      return () => following.unsubscribe();
    },
  };
}

const unreadable: NonNullable<TapOptions['unreadable']> = (_position, error: MillraceError) => {
  if (!isUnreadable(error)) throw error;
};
