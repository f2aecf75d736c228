/**
 * Sources that say where they are: each item is in the log once, whenever the process died, and cursors ride
 * with them.
 */
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { from, lastValueFrom, map, toArray } from 'rxjs';
import { openLog } from '../../streams/embedded/openLog.ts';
import { flow } from '../../streams/flow.ts';
import type { Log } from '../../streams/log.ts';
import { mapEach } from '../../streams/primitives.ts';
import {
  type CursorItem,
  type Resumable,
  type ResumableItem,
  resumable,
} from '../../streams/resumable.ts';
import { runFlow } from '../../streams/run/runFlow.ts';
import { sink, source } from '../../streams/stage.ts';
import { topics } from '../../topics/index.ts';
import { temporaryFolder } from '../support/folder.ts';
import { mortalLog } from '../support/mortalLog.ts';
import { metric, samples } from '../support/records.ts';

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

type Item = CursorItem<ReturnType<typeof metric>>;

const COUNT = 300;

/** Numbers after a cursor; every tenth cannot be read. */
async function* numbers(cursor: string | null): AsyncGenerator<Item> {
  for (let value = Number(cursor ?? 0); value < COUNT; value++) {
    const bad = { ...samples.deadLetters.full, place: value };
    const item = value % 10 === 9 ? { deadLetter: bad } : { value: metric({ value }) };
    yield { ...item, cursor: String(value + 1) };
  }
}

async function valuesIn(): Promise<number[]> {
  const stored$ = log.tap(topics.metrics, { from: { kind: 'earliest' }, follow: false });
  return (await lastValueFrom(stored$.pipe(toArray()))).map(({ value }) => value.value);
}

async function placesOfLetters(): Promise<number[]> {
  const stored$ = log.tap(topics.deadLetters, { from: { kind: 'earliest' }, follow: false });
  return (await lastValueFrom(stored$.pipe(toArray()))).map(({ value }) => value.place);
}

const all = Array.from({ length: COUNT }, (_, i) => i);

describe('a resumable source', () => {
  const ways: Record<string, (opened: (string | null)[]) => Resumable<Item>> = {
    'async generator': (opened) =>
      resumable((cursor) => {
        opened.push(cursor);
        return numbers(cursor);
      }) as Resumable<never>,
    Observable: (opened) =>
      resumable((cursor) => {
        opened.push(cursor);
        return from(numbers(cursor)).pipe(map((item) => item));
      }) as Resumable<never>,
  };
  test.each(Object.entries(ways))(
    'of an %s continues after what is in the log, whichever commit was the last',
    async (_, way) => {
      const opened: (string | null)[] = [];
      for (const lastIsWritten of [false, true, false, true]) {
        const { log: mortal } = mortalLog(log, { commitsLeft: 1, lastIsWritten });
        const part = source('numbers', topics.metrics as never, way(opened));
        await expect(runFlow(flow(part), { log: mortal })).rejects.toMatchObject({
          code: 'SOURCE',
        });
      }
      await runFlow(flow(source('numbers', topics.metrics as never, way(opened))), { log });
      expect(await valuesIn()).toEqual(all.filter((value) => value % 10 !== 9));
      expect(await placesOfLetters()).toEqual(all.filter((value) => value % 10 === 9));
      expect(opened[0]).toBeNull();
      expect(Number(opened.at(-1))).toBeGreaterThan(0);
    },
  );

  test('keeps a cursor for each of its parts, and advances it even without a record', async () => {
    const seen: (string | null)[][] = [];
    const parts: Resumable<ReturnType<typeof metric>> = {
      kind: 'resumable',
      async *open({ cursor }): AsyncGenerator<ResumableItem<ReturnType<typeof metric>>> {
        seen.push([await cursor('a'), await cursor('b')]);
        yield { value: metric({ value: 1 }), at: { a: '1' } };
        yield { at: { b: '7' } };
        yield { value: metric({ value: 2 }), at: { a: '2' } };
      },
    };
    await runFlow(flow(source('parts', topics.metrics, parts)), { log });
    await runFlow(flow(source('parts', topics.metrics, parts)), { log });
    expect(seen).toEqual([
      [null, null],
      ['2', '7'],
    ]);
    expect((await log.standing?.())?.marks['source/parts']).toBe(4);
  });

  test('confirms an item once it is in the log, and not before', async () => {
    const told: number[] = [];
    const items: Resumable<ReturnType<typeof metric>> = {
      kind: 'resumable',
      async *open() {
        for (let value = 0; value < 3; value++) {
          yield { value: metric({ value }), at: {}, committed: () => told.push(value) };
        }
      },
    };
    const { log: mortal } = mortalLog(log, { commitsLeft: 0, lastIsWritten: false });
    const part = () => flow(source('told', topics.metrics, items));
    await expect(runFlow(part(), { log: mortal })).rejects.toMatchObject({ code: 'SOURCE' });
    expect(told).toEqual([]);
    await runFlow(part(), { log });
    expect(told).toEqual([0, 1, 2]);
  });

  test('ends by its signal', async () => {
    let ended = false;
    const stop = new AbortController();
    const items = resumable<ReturnType<typeof metric>>(async function* (_, signal) {
      yield { value: metric({ value: 1 }), cursor: '1' };
      await new Promise((resolve) => signal.addEventListener('abort', resolve));
      ended = true;
    });
    const seen = sink(
      'reader',
      topics.metrics,
      null,
      mapEach(
        (value) => {
          stop.abort();
          return value;
        },
        { concurrency: 1 },
      ),
    );
    const part = source('waits', topics.metrics, items);
    expect(await runFlow(flow(part, seen), { log, signal: stop.signal })).toBe('stopped');
    expect(ended).toBe(true);
  });

  test('waits for the readers of its topic, however slowly its items come', async () => {
    let given = 0;
    const stop = new AbortController();
    const items: Resumable<ReturnType<typeof metric>> = {
      kind: 'resumable',
      async *open({ signal }): AsyncGenerator<ResumableItem<ReturnType<typeof metric>>> {
        while (!signal.aborted && given < 1000) {
          given += 1;
          let written = (): void => undefined;
          const alone = new Promise<void>((resolve) => {
            written = resolve;
          });
          yield { value: metric({ value: given }), at: {}, committed: written };
          await alone;
        }
      },
    };
    const stuck = sink(
      'stuck',
      topics.metrics,
      null,
      mapEach(() => new Promise(() => undefined), { concurrency: 1 }),
      { inflightMax: 1 },
    );
    const part = source('slow', topics.metrics, items, { leadMax: 100 });
    let quiet = 0;
    let last = 0;
    const watch = setInterval(() => {
      quiet = given === last ? quiet + 1 : 0;
      last = given;
      if (quiet > 20) stop.abort();
    }, 20);
    const options = { log, signal: stop.signal, graceMs: 0 };
    await runFlow(flow(part, stuck), options).finally(() => clearInterval(watch));
    expect(given).toBeGreaterThanOrEqual(100);
    expect(given).toBeLessThan(100 + 2 * 64 + 2);
  });
});
