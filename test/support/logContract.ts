/**
 * The contract of a log as a suite: every log (embedded, Kafka) passes it.
 *
 * `open` gives a log on a fresh, empty namespace; `reopen` closes it and opens the same one again.
 */
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { firstValueFrom, lastValueFrom, type Observable, take, toArray } from 'rxjs';
import { defineTopic } from '../../streams/contracts/defineTopic.ts';
import { record, whole } from '../../streams/contracts/shapes.ts';
import type { Delivery } from '../../streams/deliveries/delivery.ts';
import { emit } from '../../streams/deliveries/settlement.ts';
import type { From, Log, Only, Stored } from '../../streams/log.ts';
import { recordsOf } from '../../streams/recordsOf.ts';
import type { Topic } from '../../streams/topic.ts';
import type { ManualClock } from '../../testing/manualClock.ts';
import { manualClock } from '../../testing/manualClock.ts';
import { topics } from '../../topics/index.ts';
import { metric, question, samples, toolCall } from './records.ts';

export interface LogUnderTest {
  readonly log: Log;
  /** Closes the log and opens the same one again. */
  reopen(): Promise<Log>;
  /** Closes whatever is open and removes it. */
  remove(): Promise<void>;
}

/** Collects what an observable gives; `until(n)` waits for the n-th. */
function collect<T>(source$: Observable<T>) {
  const got: T[] = [];
  let failure: unknown;
  let wake = (): void => undefined;
  const subscription = source$.subscribe({
    next: (value) => {
      got.push(value);
      wake();
    },
    error: (error) => {
      failure = error;
      wake();
    },
  });
  return {
    got,
    stop: () => subscription.unsubscribe(),
    async until(count: number): Promise<readonly T[]> {
      while (got.length < count) {
        if (failure !== undefined) throw failure;
        await new Promise<void>((resolve) => {
          wake = resolve;
        });
      }
      return got;
    },
  };
}

const ids = (deliveries: readonly Delivery<{ readonly id: string }>[]): string[] =>
  deliveries.map(({ value }) => value.id);

async function fill(log: Log, count: number, first = 0): Promise<void> {
  await log.commit((tx) => {
    for (let i = first; i < first + count; i++)
      tx.append(topics.questions, question({ id: `q${i}` }));
  });
}

/** Resolves after everything that was planned so far has run. */
const quiet = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, 20));

export function keepsLogContract(
  name: string,
  openFresh: (clock: ManualClock) => Promise<LogUnderTest>,
): void {
  describe(`${name} keeps the contract of a log`, () => {
    let clock: ManualClock;
    let under: LogUnderTest;
    let log: Log;

    beforeEach(async () => {
      clock = manualClock();
      under = await openFresh(clock);
      log = under.log;
    });
    afterEach(() => under.remove());

    /** Waits until `g` lags this far behind in questions. */
    const lagBecomes = async (lag: number): Promise<void> => {
      while ((await log.lag(topics.questions, 'g')) !== lag) await quiet();
    };
    const tapAll = (from: From): Promise<Stored<{ readonly id: string }>[]> =>
      lastValueFrom(log.tap(topics.questions, { from, follow: false }).pipe(toArray()));

    describe('commit', () => {
      test('appends in order, with position, key, value and time', async () => {
        await log.commit((tx) => {
          tx.append(topics.rollouts, samples.rollouts.full);
          tx.append(topics.rollouts, samples.rollouts.minimal);
        });
        const all = await lastValueFrom(
          log.tap(topics.rollouts, { from: { kind: 'earliest' }, follow: false }).pipe(toArray()),
        );
        expect(all.map(({ value }) => value)).toEqual([
          samples.rollouts.full,
          samples.rollouts.minimal,
        ]);
        expect(all[1]).toMatchObject({
          topic: 'rollouts',
          key: 'q1',
          position: { partition: 0, offset: 1 },
          atMs: clock.now(),
        });
      });

      test('writes nothing when the callback throws or a value breaks its contract', async () => {
        const thrown = log.commit((tx) => {
          tx.append(topics.questions, question());
          throw new Error('changed my mind');
        });
        await expect(thrown).rejects.toThrow('changed my mind');
        const broken = log.commit((tx) => {
          tx.append(topics.questions, question());
          tx.append(topics.questions, question({ round: 'one' as unknown as number }));
        });
        await expect(broken).rejects.toMatchObject({ code: 'ENCODE' });
        expect(await tapAll({ kind: 'earliest' })).toEqual([]);
      });

      test('keeps concurrent commits apart and in order', async () => {
        await Promise.all(Array.from({ length: 50 }, (_, i) => fill(log, 2, i * 2)));
        const all = await tapAll({ kind: 'earliest' });
        expect(all.map(({ value }) => value.id)).toEqual(
          Array.from({ length: 100 }, (_, i) => `q${i}`),
        );
      });

      test('keeps marks, 0 before the first', async () => {
        expect(await log.mark('source/csv')).toBe(0);
        await log.commit((tx) => tx.mark('source/csv', 41));
        await log.commit((tx) => tx.mark('source/csv', 42));
        expect(await log.mark('source/csv')).toBe(42);
        log = await under.reopen();
        expect(await log.mark('source/csv')).toBe(42);
      });
    });

    describe('read', () => {
      test('hands out no more than inflightMax unsettled records', async () => {
        await fill(log, 10);
        const reading = collect(log.read(topics.questions, { group: 'g', inflightMax: 3 }));
        await reading.until(3);
        await quiet();
        expect(ids(reading.got)).toEqual(['q0', 'q1', 'q2']);
        await log.commit((tx) => tx.settle(reading.got[1]!));
        await reading.until(4);
        await quiet();
        expect(ids(reading.got)).toEqual(['q0', 'q1', 'q2', 'q3']);
        reading.stop();
      });

      test('hands out what is appended later', async () => {
        const reading = collect(log.read(topics.questions, { group: 'g', inflightMax: 10 }));
        await quiet();
        expect(reading.got).toEqual([]);
        await fill(log, 2);
        expect(ids(await reading.until(2))).toEqual(['q0', 'q1']);
        reading.stop();
      });

      test('gives every group its own progress', async () => {
        await fill(log, 2);
        const one = collect(log.read(topics.questions, { group: 'one', inflightMax: 10 }));
        const two = collect(log.read(topics.questions, { group: 'two', inflightMax: 10 }));
        const [first] = await one.until(2);
        await two.until(2);
        await log.commit((tx) => tx.settle(first!));
        expect(await log.lag(topics.questions, 'one')).toBe(1);
        expect(await log.lag(topics.questions, 'two')).toBe(2);
        one.stop();
        two.stop();
      });

      test('after reopening hands out exactly the unsettled records, in order', async () => {
        await fill(log, 10);
        const reading = collect(log.read(topics.questions, { group: 'g', inflightMax: 8 }));
        await reading.until(8);
        for (const i of [6, 0, 3, 1]) await log.commit((tx) => tx.settle(reading.got[i]!));
        reading.stop();
        log = await under.reopen();
        const again = collect(log.read(topics.questions, { group: 'g', inflightMax: 10 }));
        const expected = ['q2', 'q4', 'q5', 'q7', 'q8', 'q9'];
        expect(ids(await again.until(6))).toEqual(expected);
        await quiet();
        expect(again.got).toHaveLength(6);
        again.stop();
      });

      test('keeps appends and the settlement that caused them together', async () => {
        await fill(log, 1);
        const read$ = log.read(topics.questions, { group: 'g', inflightMax: 1 });
        const delivery = await firstValueFrom(read$);
        const failed = log.commit((tx) => {
          tx.settle(delivery.derive('out'));
          tx.append(topics.metrics, metric({ value: 'NaN' as unknown as number }));
        });
        await expect(failed).rejects.toMatchObject({ code: 'ENCODE' });
        expect(await log.lag(topics.questions, 'g')).toBe(1);
      });
    });

    describe('a record that cannot be decoded', () => {
      /** Writes what no reader of the topic can make anything of, under the topic's own contract. */
      const garbage = {
        ...topics.questions,
        codec: { ...topics.questions.codec, encode: () => Buffer.alloc(9000, 0xfe) },
      };
      const letters = () =>
        lastValueFrom(
          log
            .tap(topics.deadLetters, { from: { kind: 'earliest' }, follow: false })
            .pipe(toArray()),
        ).then((all) => all.map(({ value }) => value));

      test('becomes one dead letter, and the reader goes on', async () => {
        await fill(log, 1);
        await log.commit((tx) => tx.append(garbage, question({ id: 'bad' })));
        await fill(log, 1, 2);
        const reading = collect(log.read(topics.questions, { group: 'g', inflightMax: 1 }));
        for (let i = 0; i < 2; i++) {
          await reading.until(i + 1);
          await log.commit((tx) => tx.settle(reading.got[i]!));
        }
        await lagBecomes(0);
        expect(ids(reading.got)).toEqual(['q0', 'q2']);
        reading.stop();
        log = await under.reopen();
        const again = collect(log.read(topics.questions, { group: 'g', inflightMax: 9 }));
        await quiet();
        expect(again.got).toEqual([]);
        again.stop();
        const [letter, ...more] = await letters();
        const [first] = await tapAll({ kind: 'offset', offset: 0 }).catch(() => []);
        expect(first).toBeUndefined(); // a tap that is not told to pass over it fails there
        expect(more).toEqual([]);
        expect(letter).toMatchObject({ origin: 'questions', field: 'id' });
        expect(letter!.place).toBeGreaterThan(0);
        expect(letter!.reason).toMatch(/questions: a record of 9,000 bytes does not decode/);
        expect(letter!.payload).toMatch(/^0x(00000000..)?(fe)+$/);
        expect(letter!.payload).toHaveLength(4000);
      });

      test('does not count towards the unsettled ones', async () => {
        await log.commit((tx) => {
          for (let i = 0; i < 300; i++) tx.append(garbage, question({ id: 'bad' }));
        });
        await fill(log, 1);
        const reading = collect(log.read(topics.questions, { group: 'g', inflightMax: 2 }));
        expect(ids(await reading.until(1))).toEqual(['q0']);
        reading.stop();
        expect(await letters()).toHaveLength(300);
      });
    });

    describe('deliveries', () => {
      const readThree = async (): Promise<readonly Delivery<{ readonly id: string }>[]> => {
        await fill(log, 3);
        const options = { group: 'g', inflightMax: 10 };
        return firstValueFrom(log.read(topics.questions, options).pipe(take(3), toArray()));
      };

      test('write their side records in the commit that settles them', async () => {
        const [first] = await readThree();
        const withSideRecords = first!.also(topics.metrics, metric({ name: 'side' }));
        await log.commit((tx) => tx.settle(withSideRecords));
        const sideRecords$ = log.tap(topics.metrics, { from: { kind: 'earliest' }, follow: false });
        expect((await lastValueFrom(sideRecords$)).value.name).toBe('side');
        expect(await log.lag(topics.questions, 'g')).toBe(2);
      });

      test('settle on their own when dropped', async () => {
        const [first] = await readThree();
        first!.also(topics.metrics, metric()).drop();
        await lagBecomes(2);
        expect((await log.stats()).find(({ topic }) => topic === 'metrics')?.records).toBe(1);
      });

      test('settle when all parts of a split are in one commit, and not before', async () => {
        const [first] = await readThree();
        const [a, b] = first!.split(['a', 'b']);
        const half = log.commit((tx) => tx.settle(a!));
        await expect(half).rejects.toMatchObject({ code: 'HALF_SETTLED' });
        expect(await log.lag(topics.questions, 'g')).toBe(3);
        await log.commit((tx) => {
          tx.settle(a!);
          tx.settle(b!);
        });
        expect(await log.lag(topics.questions, 'g')).toBe(2);
      });

      test('leave as outputs with everything that they are joined to', async () => {
        const [first, second] = await readThree();
        const [a, b] = first!.split([metric({ name: 'a' }), metric({ name: 'b' })]);
        emit(a!, topics.metrics);
        emit(second!.derive(metric({ name: 'c' })), topics.metrics);
        await lagBecomes(2);
        emit(b!, topics.metrics);
        await lagBecomes(1);
        const metrics$ = log.tap(topics.metrics, { from: { kind: 'earliest' }, follow: false });
        const written = await lastValueFrom(metrics$.pipe(toArray()));
        expect(written.map(({ value }) => value.name)).toEqual(['c', 'a', 'b']);
      });

      test('are stale once a newer reader of the group was given them', async () => {
        const [first] = await readThree();
        const newer = collect(log.read(topics.questions, { group: 'g', inflightMax: 10 }));
        await newer.until(3);
        await expect(log.commit((tx) => tx.settle(first!))).rejects.toMatchObject({
          code: 'STALE',
        });
        await log.commit((tx) => tx.settle(newer.got[0]!));
        newer.stop();
      });

      test('may settle after their reader has stopped', async () => {
        const [first, second] = await readThree();
        await log.commit((tx) => tx.settle(second!));
        await log.commit((tx) => tx.settle(first!));
        expect(await log.lag(topics.questions, 'g')).toBe(1);
      });
    });

    describe('a tap', () => {
      const tapIds = async (from: From): Promise<string[]> =>
        (await tapAll(from)).map(({ value }) => value.id);

      test('begins where it is asked to', async () => {
        for (let i = 0; i < 5; i++) {
          await fill(log, 1, i);
          clock.advance(1000);
        }
        const all = await tapAll({ kind: 'earliest' });
        const secondMs = all[2]!.atMs;
        const { offset } = all[3]!.position;
        expect(await tapIds({ kind: 'earliest' })).toEqual(['q0', 'q1', 'q2', 'q3', 'q4']);
        expect(await tapIds({ kind: 'latest' })).toEqual([]);
        expect(await tapIds({ kind: 'offset', offset })).toEqual(['q3', 'q4']);
        expect(await tapIds({ kind: 'last', count: 2 })).toEqual(['q3', 'q4']);
        expect(await tapIds({ kind: 'last', count: 99 })).toHaveLength(5);
        expect(await tapIds({ kind: 'time', atMs: secondMs })).toEqual(['q2', 'q3', 'q4']);
        expect(await tapIds({ kind: 'time', atMs: secondMs - 1 })).toEqual(['q2', 'q3', 'q4']);
        expect(await tapIds({ kind: 'time', atMs: secondMs + 1 })).toEqual(['q3', 'q4']);
      });

      test('by time misses nothing if the clock jumps an hour back and forth', async () => {
        const HOUR_MS = 3_600_000;
        for (const [i, stepMs] of [0, -HOUR_MS, 1000, 2 * HOUR_MS, -HOUR_MS].entries()) {
          clock.advance(stepMs);
          await fill(log, 1, i);
        }
        const all = await tapAll({ kind: 'earliest' });
        const times = all.map(({ atMs }) => atMs);
        expect(times).toEqual([...times].sort((a, b) => a - b));
        for (const [i, atMs] of times.entries()) {
          const first = times.indexOf(atMs);
          expect(await tapIds({ kind: 'time', atMs })).toHaveLength(5 - first);
          expect(await tapIds({ kind: 'time', atMs })).toContain(`q${i}`);
        }
      });

      test('follows without loss however much comes', async () => {
        await fill(log, 1);
        const tapping = collect(
          log.tap(topics.questions, { from: { kind: 'latest' }, follow: true }),
        );
        for (let i = 0; i < 5; i++) await fill(log, 100, i * 100);
        const got = await tapping.until(500);
        expect(got.map(({ value }) => value.id)).toEqual(
          Array.from({ length: 500 }, (_, i) => `q${i}`),
        );
        const offsets = got.map(({ position }) => position.offset);
        expect(offsets).toEqual([...new Set(offsets)].sort((a, b) => a - b));
        tapping.stop();
      });

      test('ends when no one listens any more', async () => {
        await fill(log, 1000);
        const some$ = log.tap(topics.questions, { from: { kind: 'earliest' }, follow: true });
        expect(await lastValueFrom(some$.pipe(take(3), toArray()))).toHaveLength(3);
      });

      test('reads no further than there is room for', async () => {
        await fill(log, 500);
        const asked: (() => void)[] = [];
        const room = () => new Promise<void>((resolve) => void asked.push(resolve));
        const tapping = collect(
          log.tap(topics.questions, { from: { kind: 'earliest' }, follow: true, room }),
        );
        for (let before = 0; before < 500; before = tapping.got.length) {
          while (asked.length === 0) await quiet();
          expect(tapping.got).toHaveLength(before);
          asked.shift()!();
          while (tapping.got.length === before) await quiet();
          await quiet();
          expect(tapping.got.length - before).toBeLessThanOrEqual(64);
        }
        tapping.stop();
      });

      test('can be pulled record by record', async () => {
        await fill(log, 150);
        const abort = new AbortController();
        const options = { from: { kind: 'earliest' }, followUntil: abort.signal } as const;
        const got: string[] = [];
        for await (const { value } of recordsOf(log, topics.questions, options)) {
          got.push(value.id);
          if (got.length === 150) await fill(log, 2, 150);
          if (got.length === 152) abort.abort();
        }
        expect(got).toEqual(Array.from({ length: 152 }, (_, i) => `q${i}`));
      });

      test('reports how much is ahead, until it has caught up', async () => {
        await fill(log, 200);
        const told: number[] = [];
        const ahead = (records: number): void => void told.push(records);
        const options = { from: { kind: 'earliest' }, follow: false, ahead } as const;
        await lastValueFrom(log.tap(topics.questions, options));
        expect(told[0]).toBeGreaterThanOrEqual(136);
        expect(told.at(-1)).toBe(0);
        expect(told).toEqual([...told].sort((a, b) => b - a));
      });

      test('skips what cannot be read if asked to, and fails there otherwise', async () => {
        await fill(log, 3);
        const options = { from: { kind: 'earliest' }, follow: false } as const;
        const clashing = defineTopic({
          name: topics.questions.name,
          about: '',
          shape: record('Question', { id: whole }),
          key: ({ id }) => String(id),
        });
        await expect(lastValueFrom(log.tap(clashing, options))).rejects.toMatchObject({
          code: 'SCHEMA',
        });
        const codes: string[] = [];
        const unreadable = (_: unknown, { code }: { readonly code: string }): void =>
          void codes.push(code);
        const read$ = log.tap(clashing, { ...options, unreadable }).pipe(toArray());
        expect(await lastValueFrom(read$)).toEqual([]);
        expect(codes).toEqual(['SCHEMA', 'SCHEMA', 'SCHEMA']);
        const since = { ...options, from: { kind: 'time', atMs: 0 }, unreadable } as const;
        await lastValueFrom(log.tap(clashing, since).pipe(toArray()));
        expect(codes).toHaveLength(6);
      });

      test('ends before the record it is asked to', async () => {
        await fill(log, 100);
        const shown = async (to: From): Promise<number> => {
          const options = { from: { kind: 'earliest' }, to, follow: false } as const;
          return (await lastValueFrom(log.tap(topics.questions, options).pipe(toArray()))).length;
        };
        const all = await tapAll({ kind: 'earliest' });
        expect(await shown({ kind: 'offset', offset: all[70]!.position.offset })).toBe(70);
        expect(await shown({ kind: 'last', count: 10 })).toBe(90);
        expect(await shown({ kind: 'offset', offset: 10_000 })).toBe(100);
        expect(await shown({ kind: 'time', atMs: 0 })).toBe(0);
      });

      test('gives the bytes of records if asked to', async () => {
        await fill(log, 2);
        const options = { from: { kind: 'earliest' }, follow: false, encoded: true } as const;
        const records = await lastValueFrom(log.tap(topics.questions, options).pipe(toArray()));
        for (const { value, encoded } of records) {
          expect(encoded!.body).toEqual(topics.questions.codec.encode(value));
          expect(Number.isInteger(encoded!.schema)).toBe(true);
        }
        expect(records).toHaveLength(2);
      });

      test('gives only the records of a key or a question if asked to', async () => {
        const calls = [0, 1, 2, 3, 4, 5, 6, 7].map((i) =>
          toolCall({ rolloutId: `q${i % 3}/explore-0/${i % 2}`, questionId: `q${i % 3}`, turn: i }),
        );
        await log.commit((tx) => {
          for (const call of calls) tx.append(topics.toolCalls, call);
        });
        await fill(log, 40);
        const shown = async <T>(topic: Topic<T>, only: Only): Promise<readonly T[]> => {
          const options = { from: { kind: 'earliest' }, follow: false, only } as const;
          const all = await lastValueFrom(log.tap(topic, options).pipe(toArray()));
          return all.map(({ value }) => value);
        };
        const turns = async (only: Only): Promise<readonly number[]> =>
          (await shown(topics.toolCalls, only)).map(({ turn }) => turn).sort((a, b) => a - b);
        expect(await turns({ keys: ['q1/explore-0/0'] })).toEqual([4]);
        expect(await turns({ keys: ['q1/explore-0/0', 'q2/explore-0/0'] })).toEqual([2, 4]);
        expect(await turns({ keys: ['q1'] })).toEqual([]);
        expect(await turns({ subjects: ['q1'] })).toEqual([1, 4, 7]);
        expect(await turns({ subjects: ['q1', 'q2'] })).toEqual([1, 2, 4, 5, 7]);
        expect(await shown(topics.questions, { subjects: ['q7'] })).toEqual([
          question({ id: 'q7' }),
        ]);
        expect(await shown(topics.metrics, { subjects: ['q7'] })).toEqual([]);
      });

      test('follows the records of a key', async () => {
        await fill(log, 3);
        const tapping = collect(
          log.tap(topics.questions, {
            from: { kind: 'earliest' },
            follow: true,
            only: { keys: ['q1'] },
          }),
        );
        await tapping.until(1);
        for (let i = 0; i < 3; i++) await fill(log, 400);
        const got = await tapping.until(4);
        expect(got.map(({ value }) => value.id)).toEqual(['q1', 'q1', 'q1', 'q1']);
        tapping.stop();
      });

      test('settles nothing', async () => {
        await fill(log, 3);
        await tapAll({ kind: 'earliest' });
        expect(await log.lag(topics.questions, 'g')).toBe(3);
      });
    });

    describe('fetch', () => {
      test('gives the records at these positions in their order', async () => {
        await fill(log, 5);
        const all = await tapAll({ kind: 'earliest' });
        const wanted = [all[3]!, all[0]!, all[3]!].map(({ position }) => position);
        const got = await log.fetch(topics.questions, wanted);
        expect(got.map(({ value }) => value.id)).toEqual(['q3', 'q0', 'q3']);
      });

      test('names the first one that is missing', async () => {
        await fill(log, 1);
        const positions = [0, 7, 8].map((offset) => ({ partition: 0, offset }));
        const fetching = log.fetch(topics.questions, positions);
        await expect(fetching).rejects.toMatchObject({ code: 'NOT_FOUND' });
        // On Kafka the end of a transaction takes an offset as well.
        await expect(log.fetch(topics.questions, positions)).rejects.toThrow(
          /questions has no record at offset 7: partition 0 has offsets 0 to [01]$/,
        );
      });
    });

    test('shows the last status of its process, which is not a record', async () => {
      expect(await log.posted!()).toEqual([]);
      await log.post!({ stage: 'a' });
      await log.post!({ stage: 'b' });
      expect(await log.posted!()).toEqual([{ stage: 'b' }]);
      expect(await log.stats()).toEqual([]);
      log = await under.reopen();
      expect(await log.posted!()).toEqual([{ stage: 'b' }]);
    });

    test('reports records, bytes and lag of every topic', async () => {
      await fill(log, 3);
      const read$ = log.read(topics.questions, { group: 'g', inflightMax: 9 });
      const delivery = await firstValueFrom(read$);
      await log.commit((tx) => tx.settle(delivery));
      const [stat] = await log.stats();
      expect(stat).toMatchObject({ topic: 'questions', records: 3, lag: { g: 2 } });
      expect(stat!.bytes).toBeGreaterThan(3 * topics.questions.codec.encode(question()).length);
    });
  });
}
