/**
 * The laws of an operator on deliveries, as a suite: `obeysOperatorLaws(name, make, sample)`.
 *
 * Every domain operator's test begins with it. `make` builds a fresh operator; `sample` is a finite input
 * that it can process completely. What is held: it completes, forwards an error, unsubscribes from its
 * source once, keeps its state per subscription, stops a synchronous firehose, and settles every input
 * exactly once however its outputs leave. `obeysCallbackLaws` is for operators that call a function.
 */
import { describe, expect, test } from '@jest/globals';
import {
  concat,
  EMPTY,
  from,
  lastValueFrom,
  NEVER,
  Observable,
  take,
  throwError,
  toArray,
} from 'rxjs';
import type { Delivery } from '../../streams/deliveries/delivery.ts';
import type { Run } from '../../streams/stage.ts';
import type { Topic } from '../../streams/topic.ts';
import { fakeReader, runOperator } from '../../testing/runOperator.ts';

export interface Sample<In> {
  readonly topic: Topic<In>;
  /** A finite input that leaves no open group behind, with at least one output. */
  readonly values: readonly In[];
}

/** Defines the suite. */
export function obeysOperatorLaws<In, Out>(
  name: string,
  make: () => Run<In, Out>,
  sample: Sample<In>,
): void {
  const deliveries = (reader = fakeReader(sample.topic)): Delivery<In>[] =>
    sample.values.map((value) => reader.deliver(value));

  describe(`${name} keeps the laws of an operator`, () => {
    test('completes when its source does, even an empty one', async () => {
      await expect(lastValueFrom(EMPTY.pipe(make(), toArray()))).resolves.toEqual([]);
      const { outputs } = await runOperator(make(), sample.topic, sample.values);
      expect(outputs.length).toBeGreaterThan(0);
    });

    test('forwards an error of its source', async () => {
      const broken$ = concat(
        from(deliveries()),
        throwError(() => new Error('broken source')),
      );
      const run = lastValueFrom(broken$.pipe(make(), toArray()));
      await expect(run).rejects.toThrow('broken source');
    });

    test('unsubscribes from its source exactly once', () => {
      let unsubscribed = 0;
      const never$ = new Observable<Delivery<In>>((subscriber) => {
        const inner = concat(from(deliveries()), NEVER).subscribe(subscriber);
        return () => {
          unsubscribed += 1;
          inner.unsubscribe();
        };
      });
      const subscription = never$.pipe(make()).subscribe();
      expect(unsubscribed).toBe(0);
      subscription.unsubscribe();
      expect(unsubscribed).toBe(1);
    });

    test('keeps its state per subscription', async () => {
      const operator = make();
      const once = await runOperator(operator, sample.topic, sample.values);
      const again = await runOperator(operator, sample.topic, sample.values);
      expect(again.outputs).toEqual(once.outputs);
    });

    test('stops a synchronous source once no one listens', () => {
      const reader = fakeReader(sample.topic);
      let made = 0;
      const limit = sample.values.length + 1000;
      const firehose$ = new Observable<Delivery<In>>((subscriber) => {
        while (!subscriber.closed && made < limit) {
          subscriber.next(reader.deliver(sample.values[made % sample.values.length]!));
          made += 1;
        }
      });
      const subscription = firehose$.pipe(make(), take(1)).subscribe();
      // An operator that works asynchronously cannot have emitted yet, and so has not been stopped.
      if (subscription.closed) expect(made).toBeLessThanOrEqual(sample.values.length);
      else expect(made).toBe(limit);
      subscription.unsubscribe();
    });

    test('settles every input exactly once', async () => {
      const run = await runOperator(make(), sample.topic, sample.values);
      const settled = run.commits.flatMap((commit) => commit.settled).sort((a, b) => a - b);
      expect(settled).toEqual(sample.values.map((_, offset) => offset));
      expect(run.unsettled).toBe(0);
    });

    test('settles nothing more once unsubscribed', async () => {
      const reader = fakeReader(sample.topic);
      const source$ = concat(from(deliveries(reader)), NEVER);
      source$.pipe(make()).subscribe().unsubscribe();
      const before = reader.commits.length;
      await new Promise((resolve) => setTimeout(resolve, 5));
      expect(reader.commits).toHaveLength(before);
      expect(reader.owner.waiting.total).toBe(0);
    });
  });
}

/** Defines the suite for an operator around a callback: `make(fn)` with a callback that throws. */
export function obeysCallbackLaws<In, Out>(
  name: string,
  make: (onError: 'deadLetter' | 'fail', fn: () => never) => Run<In, Out>,
  sample: Sample<In>,
): void {
  const throwing = (): never => {
    throw new Error('poisoned record');
  };
  describe(`${name} handles a throw of its callback`, () => {
    test("turns the record into a dead letter and goes on with 'deadLetter'", async () => {
      const run = await runOperator(make('deadLetter', throwing), sample.topic, sample.values);
      expect(run.outputs).toEqual([]);
      expect(run.unsettled).toBe(0);
      expect(run.sideRecords['dead-letters']).toHaveLength(sample.values.length);
    });

    test("ends with the error with 'fail'", async () => {
      const run = runOperator(make('fail', throwing), sample.topic, sample.values);
      await expect(run).rejects.toThrow('poisoned record');
    });
  });
}
