/**
 * Feedback: the way back in a graph that has a loop (prices back to those who quote them).
 *
 * Made in two steps. `feedback(topic)` gives the handle before the graph exists: operators take its
 * `values$` or `latest()`. The graph then ends in a sink whose `to` is the handle. What it shows is what
 * is committed in the topic: at first the last record there (or, as `history` says, every one), then each new
 * one. A record that does not decode is skipped.
 */
import { lastValueFrom, type Observable, ReplaySubject, tap } from 'rxjs';
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
   * What `values$` begins with. `all`: every record, which are held in memory, so only for small topics.
   * `passed`: every record too, but only for those who subscribe before the flow starts; none is held.
   */
  readonly history?: 'last' | 'all' | 'passed';
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
      const from: From = history === 'last' ? { kind: 'last', count: 1 } : { kind: 'earliest' };
      const known$ = log.tap(topic, { from, follow: false, unreadable });
      let offset = 0;
      const shown$ = known$.pipe(
        tap(({ value, position }) => {
          show(value);
          offset = position.offset + 1;
        }),
      );
      await lastValueFrom(shown$, { defaultValue: null });
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
