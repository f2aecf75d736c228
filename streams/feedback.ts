/**
 * Feedback: the way back in a graph that has a loop (new weights to the rollout operators).
 *
 * Made in two steps. `feedback(topic)` gives the handle before the graph exists: operators take its
 * `values$` or `latest()`. The graph then ends in a sink whose `to` is the handle. What it shows is what
 * is committed in the topic: at first the last record that lies there, then each new one.
 */
import { firstValueFrom, type Observable, ReplaySubject } from 'rxjs';
import type { Log } from './log.ts';
import type { Topic } from './topic.ts';

export interface Feedback<T> {
  readonly kind: 'feedback';
  readonly topic: Topic<T>;
  /** The newest record, then each new one. A late subscriber begins with the newest. */
  readonly values$: Observable<T>;
  /** The newest record; undefined while there is none. */
  latest(): T | undefined;
  /** For `runFlow`: follow the topic in this log. Resolves once what lies there now has been read. */
  connect(log: Log): Promise<() => void>;
}

/** A handle on the records of `topic`, to be bound as the `to` of a sink. */
export function feedback<T>(topic: Topic<T>): Feedback<T> {
  const values = new ReplaySubject<T>(1);
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
      const last$ = log.tap(topic, { from: { kind: 'last', count: 1 }, follow: false });
      const last = await firstValueFrom(last$, { defaultValue: undefined });
      if (last !== undefined) show(last.value);
      const offset = last === undefined ? 0 : last.position.offset + 1;
      const following = log
        .tap(topic, { from: { kind: 'offset', offset }, follow: true })
        .subscribe({ next: ({ value }) => show(value), error: (error) => values.error(error) });
      return () => following.unsubscribe();
    },
  };
}
