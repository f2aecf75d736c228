import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import {
  concat,
  EMPTY,
  from,
  lastValueFrom,
  map,
  NEVER,
  Observable,
  Subject,
  throwError,
  timer,
  toArray,
} from 'rxjs';
import { openLog } from '../../streams/embedded/openLog.ts';
import { flow } from '../../streams/flow.ts';
import type { Log } from '../../streams/log.ts';
import { buffered } from '../../streams/run/buffered.ts';
import { type FlowStats, runFlow } from '../../streams/run/runFlow.ts';
import { type SourceItem, type SourceOptions, source } from '../../streams/stage.ts';
import { topics } from '../../topics/index.ts';
import { temporaryFolder } from '../support/folder.ts';
import { mortalLog } from '../support/mortalLog.ts';
import { metric } from '../support/records.ts';

let folder: ReturnType<typeof temporaryFolder>;
let log: Log;
beforeEach(async () => {
  folder = temporaryFolder();
  log = await openLog({ folder: join(folder.path, 'log'), mode: 'write' });
});
afterEach(async () => {
  await log.close();
  folder.remove();
});

const items = Array.from({ length: 500 }, (_, value) => ({ value: metric({ value }) }));

async function* standingStill(): AsyncGenerator<SourceItem<ReturnType<typeof metric>>> {
  yield items[0]!;
  await new Promise(() => undefined);
}

const values = async (): Promise<number[]> => {
  const stored$ = log.tap(topics.metrics, { from: { kind: 'earliest' }, follow: false });
  return (await lastValueFrom(stored$.pipe(toArray()))).map(({ value }) => value.value);
};

describe('a source whose commit fails', () => {
  test('fails with the reason, appends nothing more, and resumes there at the next start', async () => {
    for (let commitsLeft = 0; commitsLeft < 4; commitsLeft++) {
      for (const lastIsWritten of [false, true]) {
        const { log: mortal } = mortalLog(log, { commitsLeft, lastIsWritten });
        const name = `items ${commitsLeft} ${lastIsWritten}`;
        const part = source(name, topics.metrics, items);
        const before = (await values()).length;
        await expect(runFlow(flow(part), { log: mortal })).rejects.toMatchObject({
          code: 'SOURCE',
        });
        const reached = (await values()).length - before;
        expect(await log.mark(`source/${name}`)).toBe(reached);
        await runFlow(flow(part), { log });
        expect((await values()).slice(before)).toEqual(items.map(({ value }) => value.value));
      }
    }
  });

  test('fails even while no items come', async () => {
    const { log: mortal } = mortalLog(log, { commitsLeft: 0, lastIsWritten: false });
    const part = source('still', topics.metrics, standingStill());
    await expect(runFlow(flow(part), { log: mortal })).rejects.toThrow(
      /source still failed: killed/,
    );
  });
});

describe('a source that is an Observable', () => {
  const few$ = from(items.slice(0, 9));
  const nine = items.slice(0, 9).map(({ value }) => value.value);
  const feed = (items$: Observable<SourceItem<unknown>>, options: SourceOptions = {}) =>
    source('live', topics.metrics, items$ as Observable<(typeof items)[number]>, options);

  test('appends what it emits, synchronously or later', async () => {
    await expect(runFlow(flow(feed(few$)), { log })).resolves.toBe('quiescent');
    expect(await values()).toEqual(nine);
    const slow$ = timer(0, 1).pipe(map((n) => items[n]!));
    const stopped = runFlow(flow(source('slow', topics.metrics, slow$)), {
      log,
      signal: AbortSignal.timeout(200),
    });
    await expect(stopped).resolves.toBe('stopped');
    expect((await values()).slice(9, 13)).toEqual([0, 1, 2, 3]);
  });

  test('resumes after a failure by skipping what is in the log, or takes what comes if requested', async () => {
    const broken$ = concat(
      from(items.slice(0, 4)),
      throwError(() => new Error('gone')),
    );
    const failing = runFlow(flow(feed(broken$)), { log });
    await expect(failing).rejects.toMatchObject({
      code: 'SOURCE',
      message: expect.stringMatching(
        /^source live failed: gone \(.*sourceRunner\.test\.ts:\d+:\d+\)$/,
      ),
    });
    expect(await values()).toEqual([0, 1, 2, 3]);
    await runFlow(flow(feed(few$)), { log });
    expect(await values()).toEqual(nine);
    await runFlow(flow(feed(few$, { onResume: 'continue' })), { log });
    expect(await values()).toEqual([...nine, ...nine]);
  });

  test('fails with a remedy if its buffer overflows', async () => {
    await expect(
      runFlow(flow(feed(from(items), { bufferMax: 64 })), { log }),
    ).rejects.toMatchObject({
      code: 'SOURCE',
      message: expect.stringMatching(/64 items are waiting .* raise bufferMax/),
      cause: expect.objectContaining({ code: 'SOURCE_FULL' }),
    });
  });

  test('drops the oldest or the newest if requested, and counts them', async () => {
    let stats: FlowStats | undefined;
    const onStats = (now: FlowStats): void => {
      stats = now;
    };
    await runFlow(flow(feed(few$, { bufferMax: 3, overflow: 'dropNewest' })), { log, onStats });
    expect(await values()).toEqual([0, 1, 2]);
    expect(stats?.sources[0]).toMatchObject({ items: 3, dropped: 6, done: true });
    await runFlow(flow(feed(few$, { bufferMax: 3, overflow: 'dropOldest' })), { log });
    expect(await values()).toEqual([0, 1, 2, 6, 7, 8]);
  });

  test('is unsubscribed when the run stops, and once', async () => {
    let subscribed = 0;
    const counted$ = new Observable<SourceItem<unknown>>((subscriber) => {
      subscribed += 1;
      const inner = concat(few$, NEVER).subscribe(subscriber);
      return () => {
        subscribed -= 1;
        inner.unsubscribe();
      };
    });
    const stopped = runFlow(flow(feed(counted$)), { log, signal: AbortSignal.timeout(50) });
    await expect(stopped).resolves.toBe('stopped');
    expect(subscribed).toBe(0);
    expect(await values()).toEqual(nine);
  });

  test('is done if it is empty', async () => {
    await expect(runFlow(flow(feed(EMPTY)), { log })).resolves.toBe('quiescent');
  });

  test('becomes an iterator that can be left while it waits', async () => {
    const subject = new Subject<number>();
    const options = { max: 2, overflow: 'fail', skip: 1, dropped: () => undefined } as const;
    const iterator = buffered(subject, options);
    const first = iterator.next();
    for (const n of [1, 2, 3]) subject.next(n);
    expect([await first, await iterator.next()]).toEqual([
      { done: false, value: 2 },
      { done: false, value: 3 },
    ]);
    const waiting = iterator.next();
    await iterator.return?.();
    expect(await waiting).toEqual({ done: true, value: undefined });
    expect(subject.observed).toBe(false);
  });
});
