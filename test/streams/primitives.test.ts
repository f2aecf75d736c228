import { describe, expect, test } from '@jest/globals';
import { concat, from, lastValueFrom, map, NEVER, of, Subject, toArray } from 'rxjs';
import { TestScheduler } from 'rxjs/testing';
import type { Delivery } from '../../streams/deliveries/delivery.ts';
import { emit } from '../../streams/deliveries/settlement.ts';
import { expandEach, gatherBy, gatherCount, keepIf, mapEach } from '../../streams/primitives.ts';
import { fakeReader, runOperator } from '../../testing/runOperator.ts';
import { type Metric, topics } from '../../topics/index.ts';
import { obeysCallbackLaws, obeysOperatorLaws } from '../support/laws.ts';
import { metric } from '../support/records.ts';

const numbers = (...values: readonly number[]): Metric[] =>
  values.map((value) => metric({ name: `n${value}`, value }));
const sample = { topic: topics.metrics, values: numbers(1, 2, 3, 4) };
const one = { concurrency: 1 };

obeysOperatorLaws('mapEach', () => mapEach((m: Metric) => m.value * 2, one), sample);
obeysOperatorLaws(
  'mapEach of promises',
  () => mapEach(async (m: Metric) => m.value * 2, { concurrency: 2 }),
  sample,
);
obeysOperatorLaws('expandEach', () => expandEach((m: Metric) => [m.value, -m.value], one), sample);
obeysOperatorLaws('keepIf', () => keepIf((m: Metric) => m.value % 2 === 0), sample);
const parity = { key: (m: Metric) => String(m.value % 2), size: 2, openMax: 2 };
obeysOperatorLaws('gatherBy', () => gatherBy<Metric>(parity), sample);
obeysOperatorLaws('gatherCount', () => gatherCount<Metric>(2), sample);
obeysCallbackLaws('mapEach', (onError, fn) => mapEach(fn, { ...one, onError }), sample);
obeysCallbackLaws('expandEach', (onError, fn) => expandEach(fn, { ...one, onError }), sample);
obeysCallbackLaws('keepIf', (onError, fn) => keepIf(fn, { onError }), sample);
obeysCallbackLaws(
  'mapEach of promises',
  (onError, fn) => mapEach(async () => fn(), { ...one, onError }),
  sample,
);

describe('mapEach', () => {
  test('runs at most `concurrency` calls at once and emits in order of completion', async () => {
    let running = 0;
    let most = 0;
    const pending = new Map<number, () => void>();
    const source$ = new Subject<Delivery<Metric>>();
    const reader = fakeReader(topics.metrics);
    const out: number[] = [];
    const work = mapEach(
      async (m: Metric) => {
        running += 1;
        most = Math.max(most, running);
        await new Promise<void>((resolve) => pending.set(m.value, resolve));
        running -= 1;
        return m.value;
      },
      { concurrency: 2 },
    );
    source$.pipe(work).subscribe((delivery) => out.push(delivery.value));
    for (const value of numbers(1, 2, 3)) source$.next(reader.deliver(value));
    const end = async (value: number): Promise<void> => {
      pending.get(value)!();
      await new Promise((resolve) => setImmediate(resolve));
    };
    await end(2);
    await end(3);
    await end(1);
    expect(out).toEqual([2, 3, 1]);
    expect(most).toBe(2);
  });

  test('commits side records with the output, and with the dead letter', async () => {
    const work = mapEach((m: Metric, scope) => {
      scope.also(topics.metrics, metric({ name: 'side', value: m.value }));
      if (m.value === 2) throw new Error('two');
      return m;
    }, one);
    const { commits } = await runOperator(work, topics.metrics, numbers(1, 2));
    const topicsOf = (i: number): string[] => commits[i]!.writes.map(({ topic }) => topic);
    // Offset 1 was dropped at once, offset 0 when its output was emitted.
    expect(commits.map(({ settled }) => settled)).toEqual([[1], [0]]);
    expect(topicsOf(0)).toEqual(['metrics', 'dead-letters']);
    expect(topicsOf(1)).toEqual(['metrics']);
  });

  test('records in the dead letter where the record is and what was wrong', async () => {
    const work = mapEach(() => {
      throw new RangeError('no');
    }, one);
    const { sideRecords } = await runOperator(work, topics.metrics, numbers(5));
    expect(sideRecords['dead-letters']).toEqual([
      {
        origin: 'metrics',
        place: 0,
        key: 'n5',
        field: '',
        reason: 'no',
        payload: JSON.stringify(numbers(5)[0]),
      },
    ]);
  });

  test('aborts the signal of running calls alone when unsubscribed', async () => {
    const signals: AbortSignal[] = [];
    const reader = fakeReader(topics.metrics);
    const source$ = concat(from(numbers(0, 1).map((value) => reader.deliver(value))), NEVER);
    const work = mapEach(
      (m: Metric, scope) => {
        signals.push(scope.signal);
        return m.value === 0 ? m : new Promise<Metric>(() => undefined);
      },
      { concurrency: 2 },
    );
    source$.pipe(work).subscribe().unsubscribe();
    expect(signals.map((signal) => signal.aborted)).toEqual([false, true]);
  });
});

describe('expandEach', () => {
  test('commits all parts of a record together, when the last one leaves', () => {
    const reader = fakeReader(topics.metrics);
    const left: Delivery<number>[] = [];
    of(reader.deliver(metric({ value: 3 })))
      .pipe(expandEach((m: Metric) => [m.value, m.value + 1], one))
      .subscribe((delivery) => left.push(delivery));
    emit(left[1]!.derive(metric()), topics.metrics);
    expect(reader.commits).toEqual([]);
    left[0]!.drop();
    expect(reader.commits).toHaveLength(1);
    expect(reader.commits[0]!.writes).toHaveLength(1);
  });

  test('settles a record that expands to nothing', async () => {
    const run = await runOperator(
      expandEach((): number[] => [], one),
      topics.metrics,
      numbers(1, 2),
    );
    expect(run).toMatchObject({ outputs: [], unsettled: 0 });
  });
});

describe('gatherBy', () => {
  const byName = { key: (m: Metric) => m.name.slice(0, 1), openMax: 2 };
  const named = (...names: readonly string[]): Metric[] => names.map((name) => metric({ name }));

  test('emits a group when it is complete, in order of completion', () => {
    const scheduler = new TestScheduler((actual, expected) => expect(actual).toEqual(expected));
    scheduler.run(({ hot, expectObservable, expectSubscriptions }) => {
      const reader = fakeReader(topics.metrics);
      const values = Object.fromEntries(
        ['a', 'b', 'c', 'd'].map((frame, i) => {
          return [frame, reader.deliver(metric({ name: `${i % 2}${frame}` }))];
        }),
      );
      const source$ = hot(' a-b-c-d-|', values);
      const subscribed = '  ^-------!';
      const expected = '    ----x-y-|';
      const shown$ = source$.pipe(
        gatherBy({ ...byName, size: 2 }),
        map(({ value }) => value.map(({ name }) => name).join()),
      );
      expectObservable(shown$).toBe(expected, { x: '0a,0c', y: '1b,1d' });
      expectSubscriptions(source$.subscriptions).toBe(subscribed);
    });
  });

  test('takes the size from the first member, or asks whether the group is complete', async () => {
    const bySize = gatherBy<Metric>({ ...byName, size: (first) => first.step });
    const sized = await runOperator(bySize, topics.metrics, [
      metric({ name: 'a', step: 2 }),
      metric({ name: 'a', step: 9 }),
      metric({ name: 'b', step: 1 }),
    ]);
    expect(sized.outputs.map((group) => group.length)).toEqual([2, 1]);
    const untilRound = gatherBy<Metric>({
      ...byName,
      complete: (members) => members.some(({ round }) => round === 1),
    });
    const asked = await runOperator(untilRound, topics.metrics, [
      metric({ name: 'a' }),
      metric({ name: 'a', round: 1 }),
    ]);
    expect(asked.outputs.map((group) => group.length)).toEqual([2]);
  });

  test('lets a record go on alone that opens no group and finds none open', async () => {
    const operator = gatherBy<Metric>({ ...byName, size: 2, opens: ({ step }) => step === 1 });
    const run = await runOperator(operator, topics.metrics, [
      metric({ name: 'a', step: 2 }),
      metric({ name: 'a', step: 1 }),
      metric({ name: 'b', step: 2 }),
      metric({ name: 'a', step: 3 }),
      metric({ name: 'a', step: 4 }),
    ]);
    expect(run.outputs.map((group) => group.map(({ name, step }) => `${name}${step}`))).toEqual([
      ['a2'],
      ['b2'],
      ['a1', 'a3'],
      ['a4'],
    ]);
    expect(run.unsettled).toBe(0);
  });

  test('makes dead letters of incomplete groups at the end', async () => {
    const run = await runOperator(
      gatherBy<Metric>({ ...byName, size: 2 }),
      topics.metrics,
      named('a', 'b', 'a'),
    );
    expect(run.outputs).toHaveLength(1);
    expect(run.sideRecords['dead-letters']).toMatchObject([{ key: 'b', place: 1 }]);
    expect(run.unsettled).toBe(0);
  });

  test("emits incomplete groups at the end with atEnd 'emit'", async () => {
    const operator = gatherBy<Metric>({ ...byName, size: 2, atEnd: 'emit' });
    const run = await runOperator(operator, topics.metrics, named('a', 'b', 'a'));
    expect(run.outputs.map((group) => group.map(({ name }) => name).join(''))).toEqual(['aa', 'b']);
  });

  test('fails if more groups than openMax would be open', async () => {
    const operator = gatherBy<Metric>({ ...byName, size: 2 });
    const run = runOperator(operator, topics.metrics, named('a', 'b', 'c'));
    await expect(run).rejects.toMatchObject({ code: 'GATHER_FULL' });
  });

  test('fails instead of stalling if all records in flight wait in groups', async () => {
    const reader = fakeReader(topics.metrics, 3);
    const source$ = from(named('a', 'b', 'a1').map((value) => reader.deliver(value)));
    const gathered = lastValueFrom(
      concat(source$, NEVER).pipe(gatherBy({ ...byName, size: 3 }), toArray()),
    );
    await expect(gathered).rejects.toMatchObject({ code: 'GATHER_STALLED' });
  });

  test('counts once a record whose parts wait in groups', async () => {
    const reader = fakeReader(topics.metrics, 2);
    const parts = reader.deliver(metric()).split(named('a', 'a', 'b', 'b'));
    const groups: Delivery<readonly Metric[]>[] = [];
    const subscription = concat(from(parts), NEVER)
      .pipe(gatherBy({ ...byName, size: 3 }))
      .subscribe((group) => groups.push(group));
    expect(reader.owner.waiting.total).toBe(1);
    subscription.unsubscribe();
    expect(reader.owner.waiting.total).toBe(0);
  });
});

describe('gatherCount', () => {
  test('emits every `count`, the last one smaller', async () => {
    const run = await runOperator(gatherCount<Metric>(3), topics.metrics, numbers(1, 2, 3, 4));
    expect(run.outputs.map((window) => window.map(({ value }) => value))).toEqual([[1, 2, 3], [4]]);
  });
});
