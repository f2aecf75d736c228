import { describe, expect, it } from '@jest/globals';
import { NEVER, Observable, Subject, throwError } from 'rxjs';
import { MillraceError } from '../../base/errors.ts';
import { byTime, Changes } from '../../cli/tap/byTime.ts';
import { TopicQueue } from '../../cli/tap/topicQueue.ts';
import type { Stored, TapOptions } from '../../streams/log.ts';

type Own = Omit<TapOptions, 'from' | 'follow'>;
type Tap = (own: Own) => Observable<Stored<unknown>>;

const at = (topic: string, atMs: number): Stored<unknown> => ({
  topic,
  position: { partition: 0, offset: atMs },
  key: 'k',
  value: {},
  atMs,
  bytes: 1,
});

/** Everything at once, then the end. */
const of =
  (topic: string, ...times: readonly number[]): Tap =>
  (own) =>
    new Observable((subscriber) => {
      for (const atMs of times) subscriber.next(at(topic, atMs));
      own.ahead?.(0);
      subscriber.complete();
    });

function tapping(taps: Readonly<Record<string, Tap>>, patienceMs = 1) {
  const stop = new AbortController();
  const changes = new Changes();
  const hooks = { changed: () => changes.notify(), unreadable: () => undefined };
  const queues = Object.entries(taps).map(([topic, tap]) => {
    const queue = new TopicQueue(topic, hooks);
    queue.start(tap);
    return queue;
  });
  return { stop, queues, records: byTime(queues, { changes, patienceMs, signal: stop.signal }) };
}

async function shown(records: AsyncIterable<Stored<unknown>>): Promise<string[]> {
  const seen: string[] = [];
  for await (const { topic, atMs } of records) seen.push(`${topic}${atMs}`);
  return seen;
}

describe('a tap of several topics', () => {
  it('shows records in the order of time, and those of one moment in the order of the topics', async () => {
    const { records } = tapping({ a: of('a', 1, 4, 5, 9), b: of('b', 1, 2, 5), c: of('c') });
    expect(await shown(records)).toEqual(['a1', 'b1', 'b2', 'a4', 'a5', 'b5', 'a9']);
  });

  it('waits for a topic that has not reached its end, however long', async () => {
    const slow = new Subject<Stored<unknown>>();
    const { records } = tapping({ a: of('a', 2), b: () => slow });
    const first = records.next();
    await new Promise((resolve) => setImmediate(resolve));
    slow.next(at('b', 1));
    expect((await first).value).toMatchObject({ topic: 'b' });
    slow.complete();
    expect((await records.next()).value).toMatchObject({ topic: 'a' });
    expect((await records.next()).done).toBe(true);
  });

  it('waits briefly for a topic at its end, for records just about to come', async () => {
    let own: Own = {};
    const quiet = new Subject<Stored<unknown>>();
    const live = new Subject<Stored<unknown>>();
    const { records, stop } = tapping(
      {
        a: (given) => {
          own = given;
          return quiet;
        },
        b: () => live,
      },
      200,
    );
    own.ahead!(0);
    live.next(at('b', 7));
    const first = records.next();
    quiet.next(at('a', 6));
    expect((await first).value).toMatchObject({ topic: 'a' });
    own.ahead!(0);
    expect((await records.next()).value).toMatchObject({ topic: 'b' });
    stop.abort();
  });
});

describe('a tap of one topic', () => {
  it('holds few records at a time, however many it shows', async () => {
    let pushed = 0;
    const endless: Tap = (own) =>
      new Observable((subscriber) => {
        void (async () => {
          while (pushed < 5000) {
            await own.room?.();
            for (let i = 0; i < 64; i++) subscriber.next(at('a', pushed++));
          }
          subscriber.complete();
        })();
      });
    const { records } = tapping({ a: endless });
    let taken = 0;
    for await (const { atMs } of records) {
      expect(atMs).toBe(taken++);
      expect(pushed - taken).toBeLessThan(256 + 64);
    }
    expect(taken).toBe(pushed);
  });

  it('shows what came before a failure, then fails as its log does', async () => {
    const error = new MillraceError('DAMAGED', 'a byte was changed');
    const failing: Tap = () =>
      new Observable((subscriber) => {
        subscriber.next(at('a', 1));
        subscriber.error(error);
      });
    const { records } = tapping({ a: failing });
    expect((await records.next()).value).toMatchObject({ atMs: 1 });
    await expect(records.next()).rejects.toBe(error);
    const { records: none } = tapping({ a: () => throwError(() => error), b: () => NEVER });
    await expect(none.next()).rejects.toBe(error);
  });

  it('ends when it is stopped, also while it waits', async () => {
    const { records, stop } = tapping({ a: () => NEVER });
    const next = records.next();
    stop.abort();
    expect(await next).toEqual({ done: true, value: undefined });
  });
});
