import { describe, expect, test } from '@jest/globals';
import {
  concatMap,
  defer,
  delay,
  EMPTY,
  filter,
  from,
  map,
  mergeMap,
  NEVER,
  Observable,
  type OperatorFunction,
  of,
  pipe,
  repeat,
  retry,
  switchMap,
  throwError,
  timeout,
} from 'rxjs';
import { TestScheduler } from 'rxjs/testing';
import { MillraceError } from '../../base/errors.ts';
import { type PipeOptions, pipeEach } from '../../streams/primitives.ts';
import { fakeReader, runOperator } from '../../testing/runOperator.ts';
import { type Metric, topics } from '../../topics/index.ts';
import { obeysCallbackLaws, obeysOperatorLaws } from '../support/laws.ts';
import { metric } from '../support/records.ts';

const numbers = (...values: readonly number[]): Metric[] =>
  values.map((value) => metric({ name: `n${value}`, value }));
const sample = { topic: topics.metrics, values: numbers(1, 2, 3, 4) };
const four = { concurrency: 4 };
const value = map((m: Metric) => m.value);

obeysOperatorLaws('pipeEach', () => pipeEach(value, four), sample);
obeysOperatorLaws(
  'pipeEach of what takes time',
  () => pipeEach(pipe(value, delay(1)), four),
  sample,
);
obeysCallbackLaws('pipeEach', (onError, fn) => pipeEach(map(fn), { ...four, onError }), sample);
obeysCallbackLaws(
  'pipeEach of what takes time',
  (onError, fn) => pipeEach(pipe(delay(1), map(fn)), { ...four, onError }),
  sample,
);

const run = (op: OperatorFunction<Metric, number>, options: PipeOptions = four) =>
  runOperator(pipeEach(op, options), topics.metrics, sample.values);

describe('pipeEach', () => {
  const outputs: readonly (readonly [
    string,
    OperatorFunction<Metric, number>,
    readonly number[],
  ])[] = [
    [
      'filter',
      pipe(
        value,
        filter((n) => n % 2 === 0),
      ),
      [2, 4],
    ],
    [
      'mergeMap',
      pipe(
        value,
        mergeMap((n) => of(n, -n)),
      ),
      [1, -1, 2, -2, 3, -3, 4, -4],
    ],
    [
      'concatMap and delay',
      pipe(
        value,
        concatMap((n) => of(n, -n).pipe(delay(1))),
      ),
      [1, -1, 2, -2, 3, -3, 4, -4],
    ],
    [
      'switchMap',
      pipe(
        value,
        mergeMap((n) => of(n, n + 10)),
        switchMap((n) => of(n).pipe(delay(1))),
      ),
      [11, 12, 13, 14],
    ],
    ['none', mergeMap(() => EMPTY), []],
  ];
  test.each(outputs)(
    'takes %s, whose outputs for a record are committed with that record',
    async (_, op, out) => {
      const result = await run(op);
      expect(result.outputs).toEqual(out);
      expect(result.unsettled).toBe(0);
      expect(result.commits.map(({ settled }) => settled.length)).toEqual([1, 1, 1, 1]);
    },
  );

  test('takes retry, which asks again for that record only', async () => {
    const asked: number[] = [];
    const flaky = (n: number) =>
      defer(() => {
        asked.push(n);
        return asked.filter((one) => one === n).length < n
          ? throwError(() => new Error('busy'))
          : of(n);
      });
    const { outputs: out, sideRecords } = await run(pipe(value, mergeMap(flaky), retry(2)));
    expect(out).toEqual([1, 2, 3]);
    expect(sideRecords['dead-letters']).toMatchObject([{ key: 'n4', reason: 'busy' }]);
    expect(asked).toEqual([1, 2, 2, 3, 3, 3, 4, 4, 4]);
  });

  test('takes timeout, whose error is the dead letter of its record', async () => {
    const slow = (n: number) => (n === 3 ? NEVER : of(n));
    const result = await run(pipe(value, mergeMap(slow), timeout(5)));
    expect(result.outputs).toEqual([1, 2, 4]);
    expect(result.sideRecords['dead-letters']).toMatchObject([{ key: 'n3' }]);
    expect(result.unsettled).toBe(0);
  });

  test('emits in order of completion, at most `concurrency` at once', () => {
    new TestScheduler((actual, expected) => expect(actual).toEqual(expected)).run((helpers) => {
      const reader = fakeReader(topics.metrics);
      const twice = pipe(
        value,
        mergeMap((n) => of(n, -n).pipe(delay(10 * n))),
      );
      const numbers$ = (concurrency: number) =>
        helpers.cold('(abc|)', { a: 3, b: 1, c: 2 }).pipe(
          map((n) => reader.deliver(metric({ value: n }))),
          pipeEach(twice, { concurrency }),
          map((delivery) => delivery.value),
        );
      const marbles = { a: 3, A: -3, b: 1, B: -1, c: 2, C: -2 };
      helpers.expectObservable(numbers$(3)).toBe('10ms (bB) 6ms (cC) 6ms (aA|)', marbles);
      helpers.expectObservable(numbers$(2)).toBe('10ms (bB) 16ms (aAcC|)', marbles);
    });
  });

  test('gives the operator the scope of its record, whose side records go with it', async () => {
    const noted = pipeEach<Metric, number>((m$, scope) => {
      scope.also(topics.metrics, metric({ name: `side of ${scope.key}` }));
      return m$.pipe(value, delay(1));
    }, four);
    const { commits } = await runOperator(noted, topics.metrics, sample.values.slice(0, 1));
    expect(commits).toMatchObject([{ settled: [0], writes: [{ value: { name: 'side of n1' } }] }]);
  });

  test('bounds the outputs of a record, even of an endless operator', async () => {
    for (const endless of [repeat<number>(), repeat<number>({ delay: 0 })]) {
      const { outputs: out, sideRecords } = await run(pipe(value, endless), {
        ...four,
        outputsMax: 9,
      });
      expect(out).toEqual([]);
      expect(sideRecords['dead-letters']).toHaveLength(4);
      expect(sideRecords['dead-letters']).toMatchObject([
        { reason: expect.stringMatching(/more than 9 outputs for one record; .*outputsMax/) },
        ...Array(3).fill({}),
      ]);
    }
    expect(
      (
        await run(
          pipe(
            value,
            mergeMap((n) => from([n, n, n])),
          ),
          { ...four, outputsMax: 3 },
        )
      ).outputs,
    ).toHaveLength(12);
  });

  test('leaves a deferred record unsettled', async () => {
    const notNow = mergeMap((m: Metric) =>
      m.value === 2 ? throwError(() => new MillraceError('NOT_NOW', 'stopping')) : of(m.value),
    );
    const result = await run(notNow);
    expect(result.outputs).toEqual([1, 3, 4]);
    expect(result.unsettled).toBe(1);
    expect(result.sideRecords).toEqual({});
  });

  test('unsubscribes when the result is no longer wanted', () => {
    let open = 0;
    const counted = new Observable<number>(() => {
      open += 1;
      return () => {
        open -= 1;
      };
    });
    const reader = fakeReader(topics.metrics);
    const deliveries = sample.values.map((m) => reader.deliver(m));
    const subscription = from(deliveries)
      .pipe(
        pipeEach(
          mergeMap(() => counted),
          { concurrency: 3 },
        ),
      )
      .subscribe();
    expect(open).toBe(3);
    subscription.unsubscribe();
    expect(open).toBe(0);
    expect(reader.unsettled()).toBe(4);
  });
});
