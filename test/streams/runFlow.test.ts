import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { lastValueFrom, map, pipe, take, toArray } from 'rxjs';
import { openLog } from '../../streams/embedded/openLog.ts';
import { feedback } from '../../streams/feedback.ts';
import { flow, partOf, restOf } from '../../streams/flow.ts';
import type { Log } from '../../streams/log.ts';
import { gatherBy, keepIf, mapEach } from '../../streams/primitives.ts';
import { type FlowStats, runFlow } from '../../streams/run/runFlow.ts';
import { type SourceItem, sink, source, stage } from '../../streams/stage.ts';
import type { Topic } from '../../streams/topic.ts';
import { manualClock } from '../../testing/manualClock.ts';
import {
  type Evolved,
  type Metric,
  type Question,
  topics,
  type Weights,
} from '../../topics/index.ts';
import { temporaryFolder } from '../support/folder.ts';
import { metric, question, samples } from '../support/records.ts';
import { until } from '../support/until.ts';

let folder = temporaryFolder();
let log: Log;
const open = (): Promise<Log> => openLog({ folder: folder.path, mode: 'write' });
beforeEach(async () => {
  folder = temporaryFolder();
  log = await open();
});
afterEach(async () => {
  await log.close();
  folder.remove();
});

async function* items(count: number): AsyncGenerator<SourceItem<Question>> {
  for (let i = 0; i < count; i++) yield { value: question({ id: `q${i}` }) };
}

async function all<T>(topic: Topic<T>): Promise<readonly T[]> {
  const records$ = log.tap(topic, { from: { kind: 'earliest' }, follow: false });
  return lastValueFrom(
    records$.pipe(
      map(({ value }) => value),
      toArray(),
    ),
  );
}

const one = { concurrency: 1 };
const weigh = mapEach((q: Question) => metric({ name: q.id, value: q.id.length }), one);
const count = async (topic: Topic<unknown>): Promise<number> => (await all(topic)).length;
/** The log; `look` is called whenever it is asked how far a reader is behind. */
function countingLags(of: Log, look: () => void): Log {
  return new Proxy(of, {
    get(target, key) {
      if (key === 'lag') look();
      const value: unknown = Reflect.get(target, key, target);
      return typeof value === 'function' ? value.bind(target) : value;
    },
  });
}
const never = (): Promise<never> => new Promise(() => undefined);

describe('runFlow', () => {
  test('ends, with stages elsewhere, when those have settled everything too', async () => {
    const whole = flow(
      source('csv', topics.questions, items(30)),
      stage('weigh', topics.questions, topics.metrics, weigh),
      sink(
        'again',
        topics.metrics,
        null,
        keepIf(() => false),
      ),
    );
    const leading = partOf(whole, { except: ['weigh'] });
    const { stages: elsewhere } = restOf(whole, leading);
    let ended = false;
    let looks = 0;
    const watched = countingLags(log, () => (looks += 1));
    const leader = runFlow(leading, { log: watched, elsewhere }).finally(() => {
      ended = true;
    });
    await until(async () => (await count(topics.questions)) >= 30);
    const before = looks;
    await until(() => looks > before + 2); // it has looked again
    expect(ended).toBe(false);
    const stop = new AbortController();
    const options = { log, forever: true, signal: stop.signal };
    const follower = runFlow(partOf(whole, { only: ['weigh'] }), options);
    expect(await leader).toBe('quiescent');
    expect(await log.lag(topics.questions, 'weigh')).toBe(0);
    expect(await log.lag(topics.metrics, 'again')).toBe(0);
    stop.abort();
    expect(await follower).toBe('stopped');
  });

  test('runs from the source to the last sink and ends when nothing is left', async () => {
    const seen: number[] = [];
    const total = mapEach((m: Metric) => void seen.push(m.value), one);
    const end = await runFlow(
      flow(
        source('csv', topics.questions, items(300)),
        stage('weigh', topics.questions, topics.metrics, weigh),
        sink('total', topics.metrics, null, total),
      ),
      { log },
    );
    expect(end).toBe('quiescent');
    expect(seen).toHaveLength(300);
    expect((await all(topics.metrics)).map(({ name }) => name)).toEqual(
      Array.from({ length: 300 }, (_, i) => `q${i}`),
    );
    expect(await log.lag(topics.metrics, 'total')).toBe(0);
  });

  test('does nothing twice if it is run again', async () => {
    const parts = () =>
      flow(
        source('csv', topics.questions, items(10)),
        stage('weigh', topics.questions, topics.metrics, weigh),
      );
    await runFlow(parts(), { log });
    await log.close();
    log = await open();
    await runFlow(parts(), { log });
    expect(await count(topics.questions)).toBe(10);
    expect(await count(topics.metrics)).toBe(10);
  });

  test('flushes open groups at the end, whose results go on', async () => {
    const byPair = gatherBy<Question>({
      key: (q) => q.id.slice(0, 2),
      size: 3,
      openMax: 10,
      atEnd: 'emit',
    });
    const sizes = mapEach((group: readonly Question[]) => metric({ value: group.length }), one);
    const doubled = mapEach((m: Metric) => metric({ name: 'doubled', value: m.value * 2 }), one);
    await runFlow(
      flow(
        source('csv', topics.questions, items(4)),
        stage('pair', topics.questions, topics.metrics, pipe(byPair, sizes)),
        stage('double', topics.metrics, topics.evolved, pipe(doubled, mapEach(toEvolved, one))),
      ),
      { log },
    );
    expect((await all(topics.metrics)).map(({ value }) => value)).toEqual([1, 1, 1, 1]);
    expect((await all(topics.evolved)).map(({ round }) => round)).toEqual([2, 2, 2, 2]);
  });

  test('rejects with the name of the stage that failed, and leaves its record unsettled', async () => {
    const broken = mapEach(
      (q: Question) => {
        if (q.id === 'q3') throw new Error('out of water');
        return metric();
      },
      { concurrency: 1, onError: 'fail' },
    );
    const run = runFlow(
      flow(
        source('csv', topics.questions, items(10)),
        stage('mill', topics.questions, topics.metrics, broken),
      ),
      { log },
    );
    await expect(run).rejects.toMatchObject({ code: 'STAGE', context: { stage: 'mill' } });
    await expect(run).rejects.toThrow('stage mill failed: out of water');
    const settled = (await count(topics.questions)) - (await log.lag(topics.questions, 'mill'));
    expect(await count(topics.metrics)).toBe(settled);
    expect(settled).toBeLessThanOrEqual(3);
  });

  test('rejects when an operator completes while its input goes on', async () => {
    const parts = flow(
      source('csv', topics.questions, items(5)),
      stage('short', topics.questions, topics.metrics, pipe(weigh, take(2))),
    );
    await expect(runFlow(parts, { log })).rejects.toThrow(/stage short failed.*completed/);
  });

  test('rejects with the name of the source that failed, after what it gave was committed', async () => {
    async function* broken(): AsyncGenerator<SourceItem<Question>> {
      yield* items(2);
      throw new Error('no such file');
    }
    const run = runFlow(flow(source('csv', topics.questions, broken())), { log });
    await expect(run).rejects.toThrow('source csv failed: no such file');
    expect(await count(topics.questions)).toBe(2);
  });

  test('makes one dead letter of what a source could not read', async () => {
    async function* some(): AsyncGenerator<SourceItem<Question>> {
      yield* items(1);
      yield { deadLetter: samples.deadLetters.full };
      yield* items(1);
    }
    const parts = () => flow(source('csv', topics.questions, some()));
    await runFlow(parts(), { log });
    await runFlow(parts(), { log });
    expect(await count(topics.questions)).toBe(2);
    expect(await all(topics.deadLetters)).toEqual([samples.deadLetters.full]);
  });

  test('refuses two parts with one name', () => {
    const parts = (): unknown =>
      flow(
        source('same', topics.questions, items(1)),
        stage('same', topics.questions, topics.metrics, weigh),
      );
    expect(parts).toThrow(/two parts.*same/);
  });

  test('lets a source run ahead of its readers by no more than leadMax and a chunk or two', async () => {
    const abort = new AbortController();
    let taken = 0;
    async function* endless(): AsyncGenerator<SourceItem<Question>> {
      for (; ; taken++) yield { value: question() };
    }
    const stuck = mapEach<Question, Metric>(never, one);
    const running = runFlow(
      flow(
        source('csv', topics.questions, endless(), { leadMax: 100 }),
        stage('stuck', topics.questions, topics.metrics, stuck, { inflightMax: 50 }),
      ),
      { log, signal: abort.signal, graceMs: 0 },
    );
    await until(() => taken >= 100);
    let before = -1;
    while (taken !== before) {
      before = taken;
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
    expect(taken).toBeLessThan(300);
    abort.abort();
    expect(await running).toBe('stopped');
  });

  test('lets a source run ahead as far as a gathering reader needs', async () => {
    const size = 400;
    const whole = pipe(
      gatherBy<Question>({ key: () => 'all', size: () => size, openMax: 1 }),
      mapEach((all: readonly Question[]) => metric({ value: all.length }), one),
    );
    const running = runFlow(
      flow(
        source('csv', topics.questions, items(size), { leadMax: 100 }),
        stage('whole', topics.questions, topics.metrics, whole, { inflightMax: size }),
      ),
      { log },
    );
    expect(await running).toBe('quiescent');
    expect(await all(topics.metrics)).toMatchObject([{ value: size }]);
  });
});

describe('a stop by signal', () => {
  test('ends reading, lets work in flight finish, and commits it', async () => {
    const abort = new AbortController();
    let open = (): void => undefined;
    const gate = new Promise<void>((resolve) => {
      open = resolve;
    });
    const slow = mapEach(
      async (q: Question) => {
        if (q.id === 'q2') {
          abort.abort();
          setImmediate(open);
        }
        await gate;
        return metric({ name: q.id });
      },
      { concurrency: 3 },
    );
    const running = runFlow(
      flow(
        source('csv', topics.questions, items(100)),
        stage('slow', topics.questions, topics.metrics, slow, { inflightMax: 3 }),
      ),
      { log, signal: abort.signal },
    );
    expect(await running).toBe('stopped');
    expect((await all(topics.metrics)).map(({ name }) => name).sort()).toEqual(['q0', 'q1', 'q2']);
    const questions = await count(topics.questions);
    expect(await log.lag(topics.questions, 'slow')).toBe(questions - 3);
  });

  test('abandons work that exceeds the grace time, which is then read again', async () => {
    const abort = new AbortController();
    const aborted: boolean[] = [];
    const stuck = mapEach<Question, Metric>(
      (q, { signal }) => {
        if (q.id === 'q0') return metric();
        abort.abort();
        signal.addEventListener('abort', () => aborted.push(true));
        return never();
      },
      { concurrency: 2 },
    );
    const parts = (run: typeof stuck) =>
      flow(
        source('csv', topics.questions, items(2)),
        stage('work', topics.questions, topics.metrics, run),
      );
    expect(await runFlow(parts(stuck), { log, signal: abort.signal, graceMs: 20 })).toBe('stopped');
    expect(aborted).toEqual([true]);
    expect(await count(topics.metrics)).toBe(1);
    await runFlow(parts(weigh), { log });
    expect(await count(topics.metrics)).toBe(2);
  });

  test('does not flush open groups, whose members are read again', async () => {
    const abort = new AbortController();
    const seen: string[] = [];
    const group = (run: number) =>
      pipe(
        mapEach((q: Question) => {
          seen.push(`${run}:${q.id}`);
          if (run === 1 && q.id === 'q1') setImmediate(() => abort.abort());
          return q;
        }, one),
        gatherBy<Question>({ key: () => '', size: 4, openMax: 1 }),
        mapEach((members) => metric({ value: members.length }), one),
      );
    const wait = async function* (last: Promise<unknown>): AsyncGenerator<SourceItem<Question>> {
      yield* items(2);
      await last;
      yield* items(2);
    };
    const parts = (run: number, last: Promise<unknown>) =>
      flow(
        source('csv', topics.questions, wait(last)),
        stage('group', topics.questions, topics.metrics, group(run)),
      );
    expect(await runFlow(parts(1, never()), { log, signal: abort.signal })).toBe('stopped');
    expect(await count(topics.metrics)).toBe(0);
    expect(await count(topics.deadLetters)).toBe(0);
    await runFlow(parts(2, Promise.resolve()), { log });
    expect((await all(topics.metrics)).map(({ value }) => value)).toEqual([4]);
    expect(seen).toEqual(['1:q0', '1:q1', '2:q0', '2:q1', '2:q0', '2:q1']);
  });

  test('before the start does nothing', async () => {
    const signal = AbortSignal.abort();
    expect(await runFlow(flow(source('csv', topics.questions, items(5))), { log, signal })).toBe(
      'stopped',
    );
    expect(await count(topics.questions)).toBe(0);
  });
});

describe('feedback', () => {
  const version = (n: number): Weights => ({ ...samples.weights.minimal, version: n });

  test('shows the last record of an earlier run first, then each new one', async () => {
    await log.commit((tx) => {
      tx.append(topics.weights, version(0));
      tx.append(topics.weights, version(1));
    });
    const weights = feedback(topics.weights);
    expect(weights.latest()).toBeUndefined();
    const seen: number[] = [];
    weights.values$.subscribe((value) => seen.push(value.version));
    const train = mapEach(() => version(weights.latest()!.version + 1), one);
    await runFlow(
      flow(
        source('csv', topics.questions, items(3)),
        stage('weigh', topics.questions, topics.metrics, weigh),
        sink('train', topics.metrics, weights, train, { inflightMax: 1 }),
      ),
      { log },
    );
    expect(seen).toEqual([1, 2, 3, 4]);
    expect(weights.latest()).toEqual(version(4));
    const late: number[] = [];
    weights.values$.subscribe((value) => late.push(value.version)).unsubscribe();
    expect(late).toEqual([4]);
  });

  test.each([
    ['all', [0, 1, 2, 3]],
    ['passed', [3]],
  ] as const)(
    'with history=%s shows every record, and later subscribers %j',
    async (history, then) => {
      await log.commit((tx) => {
        tx.append(topics.weights, version(0));
        tx.append(topics.weights, version(1));
      });
      const weights = feedback(topics.weights, { history });
      const seen: number[] = [];
      weights.values$.subscribe((value) => seen.push(value.version));
      const train = mapEach(() => version(weights.latest()!.version + 1), one);
      await runFlow(
        flow(
          source('csv', topics.questions, items(2)),
          stage('weigh', topics.questions, topics.metrics, weigh),
          sink('train', topics.metrics, weights, train, { inflightMax: 1 }),
        ),
        { log },
      );
      expect(seen).toEqual([0, 1, 2, 3]);
      const late: number[] = [];
      weights.values$.subscribe((value) => late.push(value.version)).unsubscribe();
      expect(late).toEqual(then);
    },
  );
});

test('statistics of a flow show where records are and where time goes', async () => {
  const clock = manualClock();
  const seen: FlowStats[] = [];
  const work = mapEach((q: Question) => {
    clock.advance(q.id === 'q0' ? 500 : 10);
    return metric();
  }, one);
  await runFlow(
    flow(
      source('csv', topics.questions, items(3)),
      stage('work', topics.questions, topics.metrics, work, { inflightMax: 1 }),
    ),
    { log, clock, onStats: (stats) => seen.push(stats), statsMs: 1 },
  );
  const last = seen.at(-1)!;
  expect(last.sources).toEqual([
    { name: 'csv', to: 'questions', items: 3, dropped: 0, done: true, waitMs: 0 },
  ]);
  expect(last.stages).toEqual([
    {
      name: 'work',
      from: 'questions',
      to: 'metrics',
      in: 3,
      out: 3,
      settled: 3,
      inflight: 0,
      inflightMax: 1,
      pacedMs: 0,
      waiting: 0,
      oldestMs: 0,
      idleMs: 0,
      fullMs: 520,
      blockedMs: 0,
      busyMs: 0,
      commitMs: expect.any(Number),
    },
  ]);
});

function toEvolved(m: Metric): Evolved {
  return { ...samples.evolved.minimal, round: m.value };
}
